"""`standby classify`: one verdict a line, whatever the line is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from standby.cli.classify import command, explained
from standby.signals import from_text

DATA = Path(__file__).resolve().parent.parent / "data" / "corpus.jsonl"
MEMBERS = [
    "id",
    "reason",
    "rule",
    "scope",
    "retry_same_model",
    "rotate",
    "fallback",
    "retry_after_ms",
    "reset_at_ms",
    "category",
]


def lines_of(given: bytes) -> list[dict[str, object]]:
    result = CliRunner().invoke(command, ["--jsonl"], input=given)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_one_verdict_for_each_row_in_order() -> None:
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    said = lines_of(DATA.read_bytes())
    assert [line["id"] for line in said] == [row["id"] for row in rows]
    assert all(list(line) == MEMBERS for line in said)


def test_garbage_gets_a_verdict_too() -> None:
    garbage = [
        b"",
        b"not json 429",
        b"{",
        b"null",
        b"[1,2]",
        b"\xff\xfe",
        b'"text"',
        b'{"id":"\\ud800","body":3}',
        b"[" * 5000,
        b'{"body":{"error":7},"status":"x"}',
    ]
    said = lines_of(b"\n".join(garbage) + b"\n")
    assert len(said) == len(garbage)
    assert all(line["reason"] for line in said)


def test_unknown_providers_and_missing_members() -> None:
    (line,) = lines_of(b'{"id": 7, "provider": "nobody", "status": 429}\n')
    assert (line["id"], line["reason"]) == (7, "rate_limit")


def test_a_pipe_without_options_speaks_json_lines() -> None:
    result = CliRunner().invoke(command, [], input=b'{"status": 503}\n')
    assert json.loads(result.stdout)["reason"] == "server_error"


def test_verdicts_come_while_the_input_is_still_open() -> None:
    program = "from standby.cli.classify import command; command(['--jsonl'])"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for number in range(3):
            child.stdin.write(b'{"id": %d, "status": 529}\n' % number)
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["id"] == number
        child.stdin.close()
        assert child.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("429 Too many requests, try again in 90s", ["rate_limit", "9 retries", "1.5 min", "this model"]),
        ("402 Payment Required", ["billing", "is not asked again", "disabled for 10 min"]),
        ("HTTP 503", ["server_error", "8 retries within 1.5 min", "the route only"]),
        ("prompt is too long", ["context_overflow", "is not tried", "nothing"]),
        ("You've hit your usage limit. Try again in 3 days. resets 2030-01-01", ["outlives any retry"]),
    ],
)
def test_a_person_is_told_what_would_happen_next(text: str, parts: list[str]) -> None:
    told = "\n".join(explained(from_text(text, now_ms=1_780_272_000_000)))
    assert [part for part in parts if part not in told] == []


def test_explaining_one_failure() -> None:
    result = CliRunner().invoke(
        command, ["--explain"], input=b'{"error": {"type": "overloaded_error", "message": "Overloaded"}}'
    )
    assert result.exit_code == 0
    assert "overloaded" in result.stdout
    assert "code.overloaded" in result.stdout
