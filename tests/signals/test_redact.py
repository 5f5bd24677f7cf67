"""Secrets in known shapes are masked; words, paths and model names stay."""

import pytest

from standby.redact import MASK, redact

BLOB = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d"
SECRETS = [
    f"sk-proj-{BLOB}", "sk-ant-api03-abcDEF123456", f"gsk_{BLOB}", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "ya29.a0AfH6SMB1234567890",
    "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "0123456789abcdef0123456789abcdef", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "xai-abcdefghijklmnop1234567890", BLOB, f"nvapi-{BLOB}",
]  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "frame", ["{}", "key {} is bad", '{{"api_key": "{}"}}', "x?key={}&a=b", "Authorization: Bearer {}", "'{}'"]
)
def test_secrets_are_masked(secret: str, frame: str) -> None:
    text = redact(frame.format(secret))
    assert secret not in text
    assert MASK in text


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("https://user:hunter22@host/path", "hunter22"), ("password=hunter22", "hunter22"), ("client_secret: Zz8hunter", "Zz8hunter"),
        ("Bearer abc123def456", "abc123def456"), ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ("refresh_token=1//0gabcDEF", "0gabcDEF"), ("X-Amz-Signature=abc123abc123", "abc123abc123"),
    ],
)  # fmt: skip
def test_named_secrets_are_masked(text: str, gone: str) -> None:
    assert gone not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached for gpt-5.6-turbo-2026-01-01 in organization org-EXAMPLE", "api key: invalid", "token expired", "the key is missing",
        "https://docs.example.com/guides/error-codes/api-errors", "authentication_error: invalid x-api-key", "max_tokens must be less than 8192",
        "claude-opus-4-8 and meta-llama/Llama-3.3-70B-Instruct-Turbo-Free", "余额不足",
    ],
)  # fmt: skip
def test_prose_stays(text: str) -> None:
    assert redact(text) == text


def test_masking_again_changes_nothing() -> None:
    once = redact(" ".join(SECRETS))
    assert redact(once) == once
