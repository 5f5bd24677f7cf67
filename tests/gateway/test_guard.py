"""Nobody gets past without token, right Host and no foreign Origin (RELIABILITY h-1 to h-5; ADVISORIES 9, 19, 23, 31, 32, 38)."""

import os
from pathlib import Path

import pytest
from tests.gateway.kit import TOKEN, House, chat, house, request

from standby.errors import Misconfigured
from standby.gateway.guard import Guard
from standby.gateway.routes import Gateway
from standby.gateway.token import Tokens

CHAT = "/v1/chat/completions"
UNKNOWN = [
    "/",
    "/nothing",
    "/v1",
    "/v1/chat/completions/",
    "//v1/models",
    "/v1/../healthz",
    "/%68ealthz/x",
    "/healthz/",
]


async def _routes(h: House) -> list[tuple[str, str]]:
    return list(Gateway(h.standby, Guard(Tokens(value=TOKEN))).routes)


async def test_every_route_but_one_needs_the_token(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        open_ones = []
        for method, path in await _routes(h):
            answer = (
                await h.post(path, chat(), authorization="")
                if method == "POST"
                else await h.get(path, authorization="")
            )
            assert answer.status in {200, 401}, (method, path)
            open_ones += [path] if answer.status == 200 else []
        assert open_ones == ["/healthz"]
        assert h.asked() == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/models", CHAT, *UNKNOWN])
async def test_whatever_is_asked_needs_it_too(tmp_path: Path, method: str, path: str) -> None:
    async with house(tmp_path) as h:
        answer = await h.get(path, method, authorization="")
        assert answer.status == 401
        assert answer.answers == 1


async def test_a_401_says_how_in_the_protocols_shape(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        chats = await h.post(CHAT, chat(), authorization="")
        assert chats.json["error"]["code"] == "invalid_api_key"
        assert chats.json["error"]["type"] == "authentication_error"
        assert chats.headers["www-authenticate"] == "Bearer"
        messages = await h.post("/v1/messages", {}, authorization="")
        assert messages.json == {"type": "error", "error": {**messages.json["error"], "type": "authentication_error"}}


@pytest.mark.parametrize(
    "value",
    ["Bearer x", "Bearer ", "Bearer", "Bearer null", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}",
     "Bearer '; DROP TABLE tokens;--", f"Bearer {TOKEN.upper()}", "Bearer \xff\xfe"],
)  # fmt: skip
async def test_what_is_not_the_token_is_not_the_token(tmp_path: Path, value: str) -> None:
    async with house(tmp_path) as h:
        assert (await h.get("/v1/models", authorization=value)).status == 401
        assert (await h.get("/v1/models", authorization="", x_api_key=value)).status in {200 if value == TOKEN else 401}


async def test_the_token_is_never_taken_from_the_url(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        for query in (f"?token={TOKEN}", f"?api_key={TOKEN}", f"?key={TOKEN}"):
            assert (await h.get(f"/v1/models{query}", authorization="")).status == 401


@pytest.mark.parametrize("name", ["authorization", "x_api_key", "x_goog_api_key"])
async def test_the_ways_to_send_it(tmp_path: Path, name: str) -> None:
    async with house(tmp_path) as h:
        value = f"bearer {TOKEN}" if name == "authorization" else TOKEN
        assert (await h.get("/v1/models", **{"authorization": "", name: value})).status == 200


HOSTS = [
    ("127.0.0.1:{port}", 200), ("localhost:{port}", 200), ("LOCALHOST:{port}", 200), ("[::1]:{port}", 200),
    ("localhost.:{port}", 200), ("127.0.0.1", 403), ("127.0.0.1:1", 403), ("evil.example:{port}", 403),
    ("evil.example", 403), ("127.0.0.1.evil.example:{port}", 403), ("localhost:{port}/x", 400), ("x/?", 400),
    ("a@localhost:{port}", 400), ("local host", 400), ("localhost:{port}\\", 400), ("localhost#:{port}", 400),
    ("localhost:port", 400), ("", 400),
]  # fmt: skip


@pytest.mark.parametrize(("host", "status"), HOSTS)
async def test_hosts(tmp_path: Path, host: str, status: int) -> None:
    async with house(tmp_path) as h:
        for path in ("/v1/models", "/healthz", "/nothing") if status != 200 else ("/v1/models",):
            answer = await h.get(path, host=host.format(port=h.port))
            assert answer.status == status


async def test_two_hosts_are_one_too_many(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        good = request("GET", "/healthz", h.port, {})
        doubled = good.replace(b"\r\n\r\n", f"\r\nhost: localhost:{h.port}\r\n\r\n".encode())
        assert (await h.raw(doubled)).status == 400


async def test_another_sites_target_is_refused(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        assert (await h.get("http://evil.example/healthz")).status == 400
        assert (await h.get("*", "OPTIONS")).status == 400


async def test_a_configured_name_is_behind_a_proxy_with_a_port_of_its_own(tmp_path: Path) -> None:
    async with house(tmp_path, gateway={"hosts": ["gw.example.com"]}) as h:
        assert (await h.get("/v1/models", host="gw.example.com")).status == 200
        assert (await h.get("/v1/models", host="GW.example.com:8443")).status == 200
        origin = {"host": "gw.example.com", "origin": "https://gw.example.com"}
        assert (await h.get("/v1/models", **origin)).status == 200
        assert (await h.get("/v1/models", host="gw.example.com", origin="https://other.example.com")).status == 403


ORIGINS = [
    ("http://127.0.0.1:{port}", 200), ("http://127.0.0.1:1", 403), ("https://evil.example", 403), ("null", 403),
    ("http://localhost:{port}", 403), ("file://", 403), ("chrome-extension://abc", 403), ("", 200),
]  # fmt: skip


@pytest.mark.parametrize(("origin", "status"), ORIGINS)
async def test_origins(tmp_path: Path, origin: str, status: int) -> None:
    async with house(tmp_path) as h:
        given = origin.format(port=h.port)
        answers = [await h.get("/v1/models", origin=given), await h.post(CHAT, chat(), origin=given)]
        assert [a.status for a in answers] == [status, status]
        assert not any(name.startswith("access-control") for a in answers for name in a.headers)


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
async def test_sites(tmp_path: Path, site: str, status: int) -> None:
    async with house(tmp_path) as h:
        assert (await h.get("/v1/models", sec_fetch_site=site)).status == status


async def test_every_answer_forbids_keeping_and_guessing(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        for answer in (await h.get("/healthz"), await h.get("/nothing"), await h.post(CHAT, chat())):
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "set-cookie" not in answer.headers and "server" not in answer.headers


# --- the token's file -----------------------------------------------------------------------------------------------


def test_a_file_is_made_and_is_the_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        tokens = Tokens.find(file=None, environment=None, state=tmp_path / "state")
    finally:
        os.umask(old)
    file = tmp_path / "state" / "gateway.token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(tokens.text()) >= 43
    assert tokens.text() not in repr(tokens)
    assert Tokens.find(file=None, environment=None, state=tmp_path / "state").text() == tokens.text()


def test_rotation_counts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("the-first-token-of-all\n")
    tokens = Tokens.find(file=file, environment=None, state=tmp_path)
    for number in range(50):
        fresh = f"token-number-{number:03}-of-many"
        other = file.with_suffix(".new")
        other.write_text(fresh)
        other.replace(file)
        assert tokens.accepts(fresh.encode())
        assert not tokens.accepts(b"the-first-token-of-all")
    file.write_text("token-written-in-place-1")
    assert tokens.accepts(b"token-written-in-place-1")


@pytest.mark.parametrize("text", ["", " ", "\n", "short", "null", "two words of some length"])
def test_an_empty_or_short_token_refuses_to_start(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    with pytest.raises(Misconfigured, match="at least 16 characters"):
        Tokens.find(file=file, environment=None, state=tmp_path)
    with pytest.raises(Misconfigured, match="OPENCLAW_GATEWAY_TOKEN"):
        Tokens.find(file=None, environment=text, state=tmp_path)


def test_a_missing_file_refuses_to_start(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="cannot be read"):
        Tokens.find(file=tmp_path / "nothing", environment=None, state=tmp_path)


async def test_a_file_that_went_away_lets_nobody_in(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        file = tmp_path / "token"
        file.write_text(TOKEN)
        h.running.tokens.path, h.running.tokens.value = file, None
        assert (await h.get("/v1/models")).status == 200
        file.unlink()
        answer = await h.get("/v1/models")
        assert answer.status == 503
        assert answer.json["error"]["code"] == "token_unreadable"
        file.write_text("")
        assert (await h.get("/v1/models")).status == 503


def test_the_comparison_takes_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return a == b

    monkeypatch.setattr("standby.gateway.token.hmac.compare_digest", compare)
    tokens = Tokens(value=TOKEN)
    assert tokens.accepts(TOKEN.encode())
    for offered in (b"x", TOKEN.encode()[:-1], b"x" * 10_000):
        assert not tokens.accepts(offered)
    assert compared == [(32, 32)] * 4
    assert not tokens.accepts(None)
    assert not tokens.accepts(b"")
