"""What people paste for a key."""

import pytest

from standby.config import check_key
from standby.errors import Misconfigured

KEY = "sk-proj-abcDEF0123456789"


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f" {KEY}\n",
        "sk-ant-api03-x_y-z",
        "gsk_abc",
        "0123456789abcdef.AbCd",
        "local",
        "id:secret",
        "dGVzdA==",
        "eyJhbGci.eyJz.sig",
    ],
)
def test_keys(text: str) -> None:
    assert check_key(text) == text.strip()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        (f"export OPENAI_API_KEY={KEY}", "shell command"),
        (f"OPENAI_API_KEY={KEY}", "shell command"),
        (f"$env:OPENAI_API_KEY = {KEY}", "shell command"),
        (f"OPENAI_API_KEY: {KEY}", "assignment"),
        (f"set OPENAI_API_KEY={KEY}", "shell command"),
        (f"curl https://api.openai.com -H 'Authorization: Bearer {KEY}'", "shell command"),
        (f"$ curl -H {KEY}", "shell command"),
        (f"Bearer {KEY}", "whole header"),
        (f"Authorization: Bearer {KEY}", "whole header"),
        (f"x-api-key: {KEY}", "whole header"),
        ("https://platform.openai.com/api-keys", "it is an address"),
        (f'"{KEY}"', "quotes around it"),
        (f"'{KEY}'", "quotes around it"),
        (f"\u201c{KEY}\u201d", "quotes around it"),
        (f"{KEY[:9]}\n{KEY[9:]}", "line break"),
        (f"{KEY[:9]} {KEY[9:]}", "blank inside"),
        (f"{KEY}\u00a0x", "blank inside"),
        ('{"type":"service_account"}', "JSON file"),
        ("OPENAI_API_KEY", "name of a variable: write ${OPENAI_API_KEY}"),
        ("your-api-key-here", "placeholder"),
        ("YOUR_OPENAI_API_KEY", "name of a variable"),
        ("<key>", "placeholder"),
        ("xxxxxxxxxx", "placeholder"),
        ("sk-...abcd", "placeholder or a masked key"),
        ("sk-****abcd", "placeholder or a masked key"),
        ("sk-proj-аbc", "characters that no key has"),  # a Cyrillic a
        ("sk-\x00abc", "characters that no key has"),
        ("a" * 9000, "too long"),
    ],
)
def test_pasted_nonsense(text: str, says: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        check_key(text)
    assert says in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "provider", "name"),
    [
        ("sk-ant-abc", "openai", "Anthropic"),
        ("sk-proj-abc", "anthropic", "OpenAI"),
        ("sk-or-v1-abc", "openai", "OpenRouter"),
        ("gsk_abc", "xai", "Groq"),
        ("AIzaabc", "groq", "Google"),
        ("xai-abc", "groq", "xAI"),
        ("ghp_abc", "deepseek", "GitHub"),
    ],
)
def test_a_key_of_another_vendor(key: str, provider: str, name: str) -> None:
    with pytest.raises(Misconfigured, match=f"begins like a key of {name}, not of {provider}"):
        check_key(key, provider)


@pytest.mark.parametrize(
    ("key", "provider"),
    [
        ("sk-ant-abc", "anthropic"),
        ("sk-abc", "deepseek"),
        ("AIzaabc", "gemini"),
        ("AIzaabc", "google"),
        ("ghp_abc", "github-models"),
        ("sk-ant-abc", "corp-proxy"),
    ],
)
def test_a_key_that_fits_or_cannot_be_told(key: str, provider: str) -> None:
    assert check_key(key, provider) == key
