"""Law: where things lie in a state directory is said once (SPEC 5, 7)."""

from pathlib import Path

MACHINE_FILE = "standby.sqlite"
SHARED_BASE = Path("state") / "openclaw.sqlite"


def auth_file(state: Path, agent: str) -> Path:
    """Where an agent's credentials lie."""
    return state / "agents" / agent / "agent" / "openclaw-agent.sqlite"
