"""The house rules, read off the source: the five laws, one clock, one reader of the environment, small rooms.

Each law is a table row or a few lines over the syntax tree; a violation names file, line and law. A new
top-level module needs no row here as long as it keeps to what the engine's helpers may import. Where a row is
in the way, the design is to be changed first (with a decision record), then the row.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "standby"

# --- the tables ---

FLOOR = frozenset({"clock", "errors", "redact"})  # they import nothing above core; every drawer may stand on them
PORTS = frozenset({"providers.base", "stores.base", "wires.common", "wires.unroll"})
BELOW_ENGINE = FLOOR | PORTS | {"core", "credentials", "events", "signals"}
ANY = None


@dataclass(frozen=True, slots=True)
class Room:
    """What a room's modules may import: rooms or modules of the house, the standard library, packages."""

    house: frozenset[str]
    stdlib: frozenset[str] | None = ANY
    packages: frozenset[str] | None = ANY


NOTHING: frozenset[str] = frozenset()
DRAWERS = frozenset({"auth", "config", "credentials", "events", "providers", "sessions", "signals", "stores", "wires"})
# Neither of these is named by what lies below it; among themselves they meet only in app.py.
TOPS = frozenset({"agent", "cli", "demo", "gateway", "simulate"})
ENGINE_ROOMS = frozenset({"engine", "helpers"})
APP = FLOOR | DRAWERS | ENGINE_ROOMS | {"app", "core"}

ROOMS: dict[str, Room] = {
    "core": Room(
        house=frozenset({"core"}),
        stdlib=frozenset({"__future__", "collections.abc", "dataclasses", "enum", "re", "typing"}),
        packages=NOTHING,
    ),
    "clock": Room(house=NOTHING, packages=NOTHING),
    "errors": Room(house=frozenset({"core"}), packages=NOTHING),
    "redact": Room(house=NOTHING, packages=NOTHING),
    "credentials": Room(house=FLOOR | {"core"}, packages=NOTHING),
    "wires": Room(house=frozenset({"core", "errors", "wires"}), packages=frozenset({"msgspec"})),
    "signals": Room(house=frozenset({"core", "redact", "signals"}), packages=frozenset({"msgspec"})),
    "events": Room(house=FLOOR | {"core", "events", "wires.common"}),
    "stores": Room(house=FLOOR | {"core", "credentials", "stores"}),
    "providers": Room(house=FLOOR | {"core", "credentials", "providers", "signals", "wires"}),
    "config": Room(house=FLOOR | {"config", "core", "credentials", "providers.registry"}),
    "auth": Room(house=FLOOR | PORTS | {"auth", "core", "credentials", "events", "providers", "signals"}),
    "sessions": Room(house=FLOOR | PORTS | {"core", "credentials", "events", "sessions"}),
    "engine": Room(house=BELOW_ENGINE | {"helpers"}, packages=NOTHING),
    "helpers": Room(house=BELOW_ENGINE | {"helpers"}, packages=NOTHING),
    "app": Room(house=APP),
    "testing": Room(house=APP | {"testing"}),
    "door": Room(house=APP),  # standby/__init__.py
    "main": Room(house=frozenset({"cli"})),  # python -m standby
    "agent": Room(house=APP | {"agent", "door"}),
    "gateway": Room(house=APP | {"door", "gateway"}),
    "simulate": Room(house=APP | {"door", "simulate", "testing"}),
    "demo": Room(house=APP | {"demo", "door", "gateway", "testing"}),
    "cli": Room(house=APP | {"cli", "door"}),
}
# Module or package under standby/ -> its room, where the names differ. What is in no table is a helper.
ALIASES = {
    "": "door",
    "__main__": "main",
    "catalog": "app",
    "conversation": "app",
    "fallback": "app",
    "wiring": "app",
}
# Start-up time is part of the product: a command imports other doors inside the function that needs them.
LAZY = {"cli": TOPS | {"testing"}}

SECRET_ROOMS = frozenset({"auth", "config", "credentials", "providers", "stores"})
ENVIRONMENT_READERS = ("auth.sources", "config")
CORE_CALLS = frozenset({"__import__", "breakpoint", "eval", "exec", "hash", "id", "input", "open", "print"})
IMPURE = frozenset({"logging", "os", "random", "time"})
NOW = frozenset({"now", "utcnow", "today"})
LOCK = re.compile(r"(^|_)(lock|mutex|semaphore|transaction)s?$", re.IGNORECASE)
ENGINE_NUMBERS = frozenset({0, 1})  # -1 is a sign and a one

MAX_MODULE_LINES, MAX_FUNCTION_LINES = 400, 70
# Above the ceiling for a reason, with a ceiling of their own: never raised, dropped when they fit.
TALL = {
    "core/values.py": (600, "the nouns, all in one place on purpose; their texts are the glossary"),
}

# --- reading the source ---


@dataclass(frozen=True, slots=True)
class Module:
    """One parsed source file; `name` is relative to the package ("core.order", "" for the front door)."""

    path: str
    name: str
    tree: ast.Module
    lines: int

    @property
    def room(self) -> str:
        return room_of(self.name)


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, or (`member` set) one name out of it."""

    line: int
    module: str
    member: str
    lazy: bool


Found = Iterator[tuple[int, str]]


def room_of(name: str) -> str:
    head = name.partition(".")[0]
    return ALIASES.get(head, head if head in ROOMS else "helpers")


def parse(path: str, text: str) -> Module:
    name = path.removesuffix(".py").replace("/", ".").removesuffix("__init__").rstrip(".")
    return Module(path, name, ast.parse(text, path), text.count("\n"))


@cache
def house() -> tuple[Module, ...]:
    files = sorted(SOURCE.rglob("*.py"))
    return tuple(parse(file.relative_to(SOURCE).as_posix(), file.read_text("utf-8")) for file in files)


def lazy_lines(tree: ast.Module) -> set[int]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {line for node in functions for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def imports(module: Module) -> Iterator[Import]:
    lazy = lazy_lines(module.tree)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, "", node.lineno in lazy)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            for alias in node.names:
                yield Import(node.lineno, base, alias.name, node.lineno in lazy)


def absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = ["standby", *module.name.split(".")] if module.name else ["standby"]
    above = node.level - module.path.endswith("__init__.py")
    return ".".join([*parts[: len(parts) - above], *filter(None, [node.module])])


def at_home(name: str) -> str | None:
    """The part of a dotted name below the package, None for what is not of this house."""
    head, _, rest = name.partition(".")
    return rest if head == "standby" else None


def target(found: Import) -> str | None:
    """The module of the house that an import names: `from standby.core import health` is core.health."""
    base = at_home(found.module)
    if base == "" and found.member and not found.member[0].isupper():
        return found.member  # a function of the front door has a room of its own to be imported from
    return f"{base}.{found.member}" if base and found.member else base


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def covers(allowed: frozenset[str], name: str) -> bool:
    parts = name.split(".")
    return room_of(name) in allowed or any(".".join(parts[:n]) in allowed for n in range(1, len(parts) + 1))


# --- the laws: each yields (line, what is wrong) ---


def arrows_point_down(module: Module) -> Found:
    room = ROOMS[module.room]
    for found in imports(module):
        name = target(found)
        if name is not None:
            lazily = found.lazy and covers(LAZY.get(module.room, NOTHING), name)
            if not lazily and not covers(room.house, name):
                yield found.line, f"{module.room} must not import standby.{name}"
        elif found.module.partition(".")[0] in sys.stdlib_module_names:
            if room.stdlib is not ANY and found.module not in room.stdlib:
                yield found.line, f"{module.room} must not import {found.module}"
        elif room.packages is not ANY and found.module.partition(".")[0] not in room.packages:
            yield found.line, f"{module.room} must not import {found.module}"


def core_is_pure(module: Module) -> Found:
    if module.room != "core":
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield node.lineno, "core neither awaits nor is awaited"
        elif isinstance(node, ast.Global):
            yield node.lineno, "core has no state of its own"
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in CORE_CALLS or name.partition(".")[0] in IMPURE:
                yield node.lineno, f"core must not call {name}()"


def engine_has_no_policy(module: Module) -> Found:
    if module.room != "engine":
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex):
            if node.value not in ENGINE_NUMBERS:  # True and False are among them
                yield node.lineno, f"the number {node.value} belongs in core/policy.py"
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(speaks_of_reason(side) for side in sides) and not is_none_test(node):
                yield node.lineno, "what depends on a reason is decided in core/"
        elif isinstance(node, ast.Match | ast.MatchValue):
            matched = node.subject if isinstance(node, ast.Match) else node.value
            if speaks_of_reason(matched):
                yield matched.lineno, "what depends on a reason is decided in core/"


def speaks_of_reason(node: ast.expr) -> bool:
    names = (dotted(inner) for inner in ast.walk(node) if isinstance(inner, ast.Name | ast.Attribute))
    return any(name == "reason" or name.endswith(".reason") or "FailureReason." in f"{name}." for name in names)


def is_none_test(node: ast.Compare) -> bool:
    return all(isinstance(side, ast.Constant) and side.value is None for side in node.comparators)


def secrets_stay_in_their_rooms(module: Module) -> Found:
    if module.room in SECRET_ROOMS:
        return
    for found in imports(module):
        if found.module == "standby.credentials" and found.member in {"Secret", "*"}:
            yield found.line, f"{module.room} must not import Secret"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and dotted(node).endswith("credentials.Secret"):
            yield node.lineno, f"{module.room} must not name Secret"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reveal":
            yield node.lineno, f"{module.room} must not reveal a secret"


def no_lock_around_a_call(module: Module) -> Found:
    if module.room not in ENGINE_ROOMS:
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if is_lock(item.context_expr):
                    yield node.lineno, "no lock or transaction in the loop: a provider may be answering"
        elif isinstance(node, ast.Call) and is_lock(node.func) and dotted(node.func).endswith(".acquire"):
            yield node.lineno, "no lock in the loop: a provider may be answering"


def is_lock(node: ast.expr) -> bool:
    return any(LOCK.search(part) for part in dotted(node).split("."))


def one_clock(module: Module) -> Found:
    if module.room == "clock":
        return
    for found in imports(module):
        if found.module in {"time", "random"}:
            yield found.line, f"only clock.py imports {found.module}; take a Clock"
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        holder, _, last = name.rpartition(".")
        if last in NOW and holder.rpartition(".")[2] in {"datetime", "date"}:
            yield node.lineno, f"only clock.py reads the time; take a Clock instead of {name}()"
        elif name == "asyncio.sleep" and not is_zero(node.args):
            yield node.lineno, "only clock.py sleeps; take a Clock"


def is_zero(args: list[ast.expr]) -> bool:
    return len(args) == 1 and isinstance(args[0], ast.Constant) and args[0].value == 0


def one_reader_of_the_environment(module: Module) -> Found:
    if covers(frozenset(ENVIRONMENT_READERS), module.name):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and dotted(node) in {"os.environ", "os.getenv", "os.environb"}:
            yield node.lineno, "the environment is read by config and auth.sources alone"
    for found in imports(module):
        if found.module == "os" and found.member in {"environ", "getenv", "environb"}:
            yield found.line, "the environment is read by config and auth.sources alone"


def small_rooms(module: Module) -> Found:
    limit = TALL.get(module.path, (MAX_MODULE_LINES, ""))[0]
    if module.lines > limit:
        yield module.lines, f"{module.lines} lines, at most {limit}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield node.lineno, f"{node.name} has {length} lines, at most {MAX_FUNCTION_LINES}"


def a_law_on_every_door(module: Module) -> Found:
    if not (ast.get_docstring(module.tree) or "").strip():
        yield 1, "the module's first lines say its law"


Law = Callable[[Module], Found]
LAWS: dict[str, Law] = {
    "law 1, arrows point down": arrows_point_down,
    "law 2, the core is pure": core_is_pure,
    "law 3, the engine has no policy": engine_has_no_policy,
    "law 4, secrets have few rooms": secrets_stay_in_their_rooms,
    "law 5, no lock while a provider answers": no_lock_around_a_call,
    "one clock": one_clock,
    "one reader of the environment": one_reader_of_the_environment,
    "small rooms": small_rooms,
    "a law on every door": a_law_on_every_door,
}

# --- the tests ---


@pytest.mark.parametrize("law", LAWS)
def test_house_keeps(law: str) -> None:
    found = [
        f"src/standby/{module.path}:{line}: {law}: {what}"
        for module in house()
        for line, what in sorted(LAWS[law](module))
    ]
    assert not found, "\n" + "\n".join(found)


def test_tall_modules_are_still_tall() -> None:
    lines = {module.path: module.lines for module in house()}
    fitting = [path for path in TALL if lines.get(path, MAX_MODULE_LINES + 1) <= MAX_MODULE_LINES]
    assert not fitting, f"they fit now, drop them from TALL: {fitting}"


HEAVY = ("uvicorn", "aiohttp", "click", "rich", "prompt_toolkit", "apsw", "pydantic", "json5", "watchfiles")


def test_import_of_the_package_alone_is_light() -> None:
    """`import standby` pulls neither server nor client nor command line."""
    code = f"import sys, standby; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# A law that nothing can break is none: one broken sample each, and what stands beside it and is allowed.
BROKEN = {
    "core awaits": ("core/a.py", "async def f(): ...", "law 2, the core is pure"),
    "core throws dice": ("core/a.py", "import random", "law 1, arrows point down"),
    "core reads time": ("core/a.py", "def f(): return time.time()", "law 2, the core is pure"),
    "core imports a package": ("core/a.py", "import msgspec", "law 1, arrows point down"),
    "core imports upwards": (
        "core/a.py",
        "from standby.wires.common import Chunk",
        "law 1, arrows point down",
    ),
    "core imports upwards, relative": (
        "core/rules/a.py",
        "from ...wires import chat",
        "law 1, arrows point down",
    ),
    "a wire imports a provider": ("wires/a.py", "import standby.providers.http", "law 1, arrows point down"),
    "a store imports a provider": (
        "stores/a.py",
        "from standby import providers",
        "law 1, arrows point down",
    ),
    "the engine imports a store": (
        "engine.py",
        "from standby.stores.sqlite import S",
        "law 1, arrows point down",
    ),
    "a helper imports the engine's user": (
        "new.py",
        "from standby.app import Standby",
        "law 1, arrows point down",
    ),
    "a top imports a top": ("gateway/a.py", "from standby.agent import loop", "law 1, arrows point down"),
    "cli imports at the top": ("cli/a.py", "from standby.gateway import server", "law 1, arrows point down"),
    "app imports a top": ("app.py", "def f():\n    import standby.cli", "law 1, arrows point down"),
    "a number": ("engine.py", "DELAY = 250", "law 3, the engine has no policy"),
    "a reason compared": ("engine.py", "x = f.reason == 'timeout'", "law 3, the engine has no policy"),
    "a reason looked up": ("engine.py", "x = r in (FailureReason.auth,)", "law 3, the engine has no policy"),
    "a reason matched": (
        "engine.py",
        "match r:\n    case FailureReason.auth: pass",
        "law 3, the engine has no policy",
    ),
    "a secret in events": (
        "events.py",
        "from standby.credentials import Secret",
        "law 4, secrets have few rooms",
    ),
    "a secret revealed": ("app.py", "def f(s): return s.reveal()", "law 4, secrets have few rooms"),
    "a secret by its module": (
        "app.py",
        "from standby import credentials\nx = credentials.Secret",
        "law 4, secrets have few rooms",
    ),
    "a lock": (
        "engine.py",
        "async def f(s):\n    async with s._lock: pass",
        "law 5, no lock while a provider answers",
    ),
    "a lock acquired": ("engine.py", "x = LOCK.acquire()", "law 5, no lock while a provider answers"),
    "a transaction": (
        "engine.py",
        "async def f(s):\n    async with s.transaction(): pass",
        "law 5, no lock while a provider answers",
    ),
    "time": ("stores/a.py", "import time", "one clock"),
    "now": ("app.py", "import datetime\nx = datetime.datetime.now()", "one clock"),
    "sleep": ("gateway/a.py", "import asyncio\nx = asyncio.sleep(1)", "one clock"),
    "environment": ("app.py", "import os\nx = os.environ['A']", "one reader of the environment"),
    "a tall module": ("app.py", "\n" * 401, "small rooms"),
    "a long function": ("app.py", "def f():\n" + "    pass\n" * 70, "small rooms"),
    "no law": ("app.py", "x = 1", "a law on every door"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_law_is_seen_broken(name: str) -> None:
    path, text, law = BROKEN[name]
    assert list(LAWS[law](parse(path, text)))


KEPT = {
    "core": (
        "core/rules/a.py",
        "from collections.abc import Mapping\nfrom standby.core import values\nfrom ..order import rank",
    ),
    "engine": (
        "engine.py",
        "from standby.delivery import Delivery\nx = -1 if f.reason is None else leases.acquire(0)",
    ),
    "a block is no lock": ("engine.py", "def f(s):\n    with s.block(): pass"),
    "cli in a function": ("cli/a.py", "def f():\n    from standby.gateway import server"),
    "demo": ("demo/a.py", "from standby.gateway import server\nfrom standby.testing import make_turn"),
    "a secret at home": (
        "providers/a.py",
        "from standby.credentials import Secret\ndef f(s): return s.reveal()",
    ),
    "a limit": ("providers/a.py", "import asyncio\nx = asyncio.timeout(3)\ny = asyncio.sleep(0)"),
    "the front door": ("gateway/a.py", "from standby import Standby"),
}


@pytest.mark.parametrize("name", KEPT)
def test_law_leaves_alone(name: str) -> None:
    path, text = KEPT[name]
    module = parse(path, f'"""Law: a sample."""\n{text}\n')
    assert {law: list(check(module)) for law, check in LAWS.items()} == {law: [] for law in LAWS}
