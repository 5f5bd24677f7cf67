"""`standby run`: the answer on stdout, all else on stderr; one document with --json."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Home
from tests.cli.upstream import Upstream

from standby.cli.run import model_and_profile

ANSWER = "Hello from here\n"
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


def test_a_key_in_the_environment_is_enough(home: Home, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(f'{{ models: {{ providers: {{ openai: {{ baseUrl: "{upstream.url}" }} }} }} }}')
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    done = home("run", "hi")
    assert (done.code, done.out, done.err) == (0, ANSWER, "")
    assert upstream.keys == ["Bearer sk-0123456789abcdef"]
    assert not (home.state / "agents" / "main" / "agent" / "transcripts").exists()


def test_the_message_comes_from_stdin(wired: Home, upstream: Upstream) -> None:
    assert wired("run", "--model", "beta/good", stdin="from a pipe\n").out == ANSWER
    assert upstream.bodies[-1]["messages"][-1]["content"] in ("from a pipe", [{"type": "text", "text": "from a pipe"}])


def test_a_fallback_answers_and_the_notice_is_told_once(wired: Home) -> None:
    first, second = wired("run", "hi", "--session", "s"), wired("run", "again", "--session", "s")
    assert (first.out, second.out) == (ANSWER, ANSWER)
    assert "↪️ Model Fallback: beta/good (selected alpha/bad-key; auth)" in first.err
    assert "Model Fallback" not in second.err


def test_json_tells_the_whole_story(wired: Home) -> None:
    done = wired("run", "hi", "--json", "--no-stream")
    found = done.json
    assert done.code == 0
    assert (found["text"], found["model"], found["served_model"]) == (ANSWER.strip(), "beta/good", "good")
    assert found["profile"] == "inline-api-key:beta"
    assert found["usage"] == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert found["notice"].startswith("↪️ Model Fallback: beta/good")
    failed, answered = found["attempts"]
    assert (failed["outcome"], failed["reason"], failed["status"]) == ("failed", "auth", 401)
    assert failed["rule"] and failed["retry_at_ms"] > failed["ended_ms"]
    assert answered["outcome"] == "answered"
    assert "error" not in found and found["turn"]


def test_a_failed_turn_says_why_and_when_again(wired: Home) -> None:
    done = wired("run", "hi", "--model", "alpha/bad-key")
    sentence, attempt, turn = done.err.splitlines()
    assert (done.code, done.out) == (1, "")
    assert sentence.startswith("failed: alpha/bad-key did not accept the account")
    assert "(HTTP 401)" in sentence
    for part in ("alpha/bad-key", "inline-api-key:alpha", "auth", "rule ", "HTTP 401", "again in "):
        assert part in attempt
    assert turn.startswith("turn ")
    assert "Incorrect API key" not in done.err


def test_a_failed_turn_as_json_has_the_error_beside_the_attempts(wired: Home) -> None:
    done = wired("run", "hi", "--model", "alpha/gone", "--json")
    assert done.code == 1
    assert done.json["error"]["reason"] == "model_not_found"
    assert done.json["model"] is None and done.json["text"] == ""
    assert done.err.startswith("failed: alpha/gone is unknown to the provider")


def test_a_one_off_choice_is_strict(wired: Home, upstream: Upstream) -> None:
    assert wired("run", "hi", "--model", "alpha/gone").code == 1
    assert [body["model"] for body in upstream.bodies] == ["gone"]


def test_an_explicit_list_is_exact(wired: Home, upstream: Upstream) -> None:
    assert wired("run", "hi", "--model", "alpha/gone", "--fallbacks", "alpha/good").out == ANSWER
    assert wired("run", "hi", "--no-fallbacks").code == 1
    assert [body["model"] for body in upstream.bodies] == ["gone", "good", "bad-key"]


def test_default_as_model_inherits(wired: Home) -> None:
    assert wired("run", "hi", "--model", "default").out == ANSWER


def test_a_session_keeps_the_conversation(wired: Home, upstream: Upstream) -> None:
    wired("run", "first", "--session", "s", "--model", "beta/good")
    wired("run", "second", "--session", "s", "--model", "beta/good")
    assert [message["role"] for message in upstream.bodies[-1]["messages"]] == ["user", "assistant", "user"]


def test_an_image_is_sent_as_what_its_bytes_are(wired: Home, upstream: Upstream, tmp_path: Path) -> None:
    file = tmp_path / "picture.jpg"
    file.write_bytes(PNG)
    assert wired("run", "what is it?", "--image", str(file), "--model", "beta/good").code == 0
    assert "data:image/png;base64," in str(upstream.bodies[-1]["messages"])


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "cannot be read: No such file"), (b"", "is empty"), (b"RIFF0000WAVE", "is no PNG, JPEG, GIF or WebP")],
)
def test_what_is_no_image_is_told(wired: Home, tmp_path: Path, content: bytes | None, told: str) -> None:
    file = tmp_path / "x.png"
    if content is not None:
        file.write_bytes(content)
    done = wired("run", "hi", "--image", str(file))
    assert done.code == 2 and told in done.err


def test_a_large_image_is_refused(wired: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standby.cli.images.MAX_BYTES", 1_000_000)
    file = tmp_path / "x.png"
    file.write_bytes(PNG + bytes(1_000_000))
    assert "is larger than 1 MB" in wired("run", "hi", "--image", str(file)).err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run",), "there is no message"),
        (("run", "  "), "there is no message"),
        (("run", "hi", "--fallbacks", "a/b", "--no-fallbacks"), "not both"),
        (("run", "hi", "--session", " "), "--session is empty"),
        (("run", "hi", "--model", "alpah/good"), "did you mean alpha/good?"),
        (("run", "hi", "--model", "alpha/good@alpha:nobody"), "its accounts are inline-api-key:alpha"),
        (("run", "hi", "--thinking", "deep"), "'deep' is not one of"),
        (("rum", "hi"), "did you mean run?"),
        (("run", "hi", "--agent", "../x"), "Invalid value for '--agent'"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_2(wired: Home, arguments: tuple[str, ...], told: str) -> None:
    done = wired(*arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err and "Traceback" not in done.err


def test_wrong_use_with_json_is_a_document_too(wired: Home) -> None:
    done = wired("run", "hi", "--json", "--model", "alpah/good")
    assert done.code == 2
    assert "did you mean" in done.json["error"]["message"]


def test_a_model_outside_the_allow_list_may_not_be_chosen(wired: Home) -> None:
    wired.write(wired.config.read_text().replace("defaults: {", 'defaults: { modelPolicy: {allow: ["beta/*"]},'))
    done = wired("run", "hi", "--model", "alpha/good")
    assert done.code == 2 and "may not be chosen" in done.err
    assert wired("run", "hi").out == ANSWER


def test_without_model_and_key_the_way_out_is_told(home: Home) -> None:
    done = home("run", "hi")
    assert done.code == 2 and "standby init" in done.err


def test_a_key_that_was_left_out_is_told_where_nobody_can_be_asked(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "your-api-key")
    done = home("run", "hi")
    assert done.code == 2 and "OPENAI_API_KEY is left out" in done.err and "standby init" in done.err


@pytest.mark.parametrize(
    ("text", "model", "profile"),
    [
        ("a/m", "a/m", None),
        ("a/m@a:work", "a/m", "a:work"),
        ("a/m@a:me@example.com", "a/m", "a:me@example.com"),
        ("v/claude@20240620", "v/claude@20240620", None),
        ("v/claude@20240620@v:default", "v/claude@20240620", "v:default"),
        ("a/m@a:other", "a/m", "a:other"),
    ],
)
def test_model_and_account_are_told_apart(text: str, model: str, profile: str | None) -> None:
    known = ("a:work", "a:me@example.com", "v:default")
    assert model_and_profile(text, known) == (model, profile)


# --- a process of its own: signals and pipes ----------------------------------------------------------------


def _started(home: Home, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "standby", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HOME": str(home.state.parent)},
    )


@pytest.mark.parametrize(("more", "out"), [((), b"Hello\n"), (("--json",), b"")])
def test_ctrl_c_ends_with_130(wired: Home, upstream: Upstream, more: tuple[str, ...], out: bytes) -> None:
    process = _started(wired, "run", "hi", "--model", "alpha/slow", *more)
    assert upstream.first_out.wait(30)
    if not more:
        assert process.stdout is not None
        assert process.stdout.read(5) == b"Hello"
        out = out[5:]
    process.send_signal(signal.SIGINT)
    told, err = process.communicate(timeout=30)
    assert (process.returncode, told, err.strip()) == (130, out, b"interrupted")


def test_a_reader_that_leaves_is_no_error(wired: Home, upstream: Upstream) -> None:
    process = _started(wired, "run", "hi", "--model", "alpha/slow")
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.read(5) == b"Hello"
    process.stdout.close()
    upstream.release.set()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 0
