"""Law: the demo plays the real thing: real sockets, the shipped gateway, a client that knows nothing of failover."""

import json
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from standby.app import Standby
from standby.auth.given import api_key
from standby.clock import SystemClock
from standby.demo.story import CONFIG, KEYS, PROVIDERS, STORY, Scene
from standby.demo.teller import Teller
from standby.gateway.server import Running, serving
from standby.stores.places import auth_file
from standby.stores.sqlite_auth import SqliteAuthStore
from standby.testing.faults import FaultServer

SESSION = "demo"


class DemoClock(SystemClock):
    """The real clock, which the story may move ahead instead of waiting."""

    ahead_ms = 0

    def now_ms(self) -> int:
        """Wall clock plus what was skipped."""
        return super().now_ms() + self.ahead_ms


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a scene."""

    scene: Scene
    model: str
    profile: str | None
    reasons: tuple[str, ...]
    answer: str
    notice: str

    @property
    def wrong(self) -> str:
        """What did not go as told; empty when all did."""
        scene = self.scene
        checks = (
            (self.answer == scene.answer, f"the answer was {self.answer!r}"),
            (self.model == scene.model, f"{self.model} answered"),
            (self.profile == scene.profile, f"{self.profile} answered"),
            (self.reasons == scene.reasons, f"the failures were {', '.join(self.reasons) or 'none'}"),
            (
                self.notice.startswith(scene.notice) and bool(self.notice) == bool(scene.notice),
                f"notice {self.notice!r}",
            ),
        )
        return "; ".join(said for good, said in checks if not good)


@dataclass(slots=True)
class Demo:
    """A running stage."""

    standby: Standby
    gateway: Running
    servers: dict[str, FaultServer]
    teller: Teller
    clock: DemoClock

    async def play(self, scene: Scene, say: Callable[[str], None]) -> Played:
        """One message through the gateway, over HTTP, as any client would send it."""
        self.clock.ahead_ms += scene.passes_ms
        for profile, lines in scene.script.items():
            self.servers[profile.partition(":")[0]].script(KEYS[profile], *lines)
        self.teller.begin()
        answer = await self._ask(scene.says, say)
        teller = self.teller
        return Played(scene, teller.model, teller.profile, tuple(teller.reasons), answer, teller.notice)

    async def _ask(self, text: str, say: Callable[[str], None]) -> str:
        body = {"model": "standby/main", "stream": True, "messages": [{"role": "user", "content": text}]}
        headers = {
            "authorization": f"Bearer {self.gateway.tokens.text()}",
            "x-openclaw-session-key": SESSION,
        }
        pieces: list[str] = []
        async with (
            aiohttp.ClientSession(trust_env=False) as client,
            client.post(f"{self.gateway.url}/v1/chat/completions", json=body, headers=headers) as answer,
        ):
            async for line in answer.content:
                pieces += _text(line)
        say("".join(pieces))
        return "".join(pieces)


def _text(line: bytes) -> list[str]:
    if not line.startswith(b"data: {"):
        return []
    data: dict[str, Any] = json.loads(line[6:])
    if "error" in data:
        return [f"[error: {data['error']['message']}]"]
    return [choice["delta"].get("content") or "" for choice in data["choices"]]


@asynccontextmanager
async def stage(tell: Callable[[str], None], port: int = 0) -> AsyncIterator[Demo]:
    """Providers, state in a folder of its own, gateway; all gone at the end."""
    clock = DemoClock()
    teller = Teller(tell)
    with tempfile.TemporaryDirectory(prefix="standby-demo-") as folder:
        state = Path(folder)
        async with _providers() as servers:
            _configure(state, servers)
            await _store_keys(state, clock)
            opened = Standby.open(state_dir=state, environment={}, clock=clock, sinks=[teller])
            async with opened as standby, serving(standby, port=port) as gateway:
                yield Demo(standby, gateway, servers, teller, clock)


@asynccontextmanager
async def _providers() -> AsyncIterator[dict[str, FaultServer]]:
    async with FaultServer() as aurora, FaultServer() as boreal, FaultServer() as cirrus:
        yield {"aurora": aurora, "boreal": boreal, "cirrus": cirrus}


def _configure(state: Path, servers: dict[str, FaultServer]) -> None:
    providers = {
        name: {"api": api, "baseUrl": servers[name].base_url if api == "openai-chat" else servers[name].root}
        for name, api in PROVIDERS.items()
    }
    state.chmod(0o700)
    file = state / "openclaw.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps({**CONFIG, "models": {"providers": providers}}, indent=2), "utf-8")


async def _store_keys(state: Path, clock: SystemClock) -> None:
    store = await SqliteAuthStore.open(auth_file(state, "main"), shared_base=None, clock=clock)
    try:
        for profile, key in KEYS.items():
            await store.put(api_key(profile, profile.partition(":")[0], key))
    finally:
        await store.close()


async def play(tell: Callable[[str], None], demo: Demo) -> list[Played]:
    """The whole story."""
    played = []
    for number, scene in enumerate(STORY, 1):
        tell("")
        tell(f"{number}. {scene.title}")
        if scene.passes_ms:
            tell(f"  (the demo moves its clock {scene.passes_ms // 1000} s ahead instead of waiting)")
        tell(f"  you: {scene.says}")
        found = await demo.play(scene, lambda text: tell(f"  « {text} »"))
        tell(f"  ✓ answered by {found.model} with {found.profile}")
        if found.wrong:
            tell(f"  !! not as told: {found.wrong}")
        played.append(found)
    return played
