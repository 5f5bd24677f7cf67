"""The table of vendors: every name leads to one of them, and nothing in it contradicts itself."""

from collections import Counter
from urllib.parse import urlsplit

import pytest

from standby.providers.endpoint import call_url
from standby.providers.registry import VENDORS, Vendor, by_host, vendor
from standby.wires.common import Dialect
from standby.wires.protocols import PROTOCOLS

ASKED_FOR = (
    "openai anthropic openrouter groq deepseek mistral xai together fireworks moonshot zai qwen minimax cerebras "
    "nvidia github-models ollama vllm lmstudio llamacpp gemini perplexity cohere siliconflow huggingface volcengine"
).split()
EVERY = pytest.mark.parametrize("known", VENDORS.values(), ids=lambda known: known.id)


def test_the_vendors_that_are_promised_stand_in_the_table() -> None:
    assert set(ASKED_FOR) <= set(VENDORS)


def test_no_name_variable_or_host_means_two_vendors() -> None:
    for names in (
        [name for known in VENDORS.values() for name in (known.id, *known.aliases)],
        [name for known in VENDORS.values() for name in known.env],
        [name for known in VENDORS.values() for name in known.hosts],
    ):
        assert [name for name, count in Counter(names).items() if count > 1] == []


@EVERY
def test_a_vendor_is_found_by_its_id_its_aliases_and_its_hosts(known: Vendor) -> None:
    for name in (known.id, *known.aliases):
        assert vendor(name) is known and vendor(f" {name.upper()} ") is known
    for host in known.hosts:
        assert by_host(host) is known and by_host(f"https://eu.{host.upper()}:443/v1") is known
        assert by_host(f"https://{host}.evil.example/") is None and by_host(f"not{host}") is None
    if known.hosts:
        assert by_host(known.base_url) is known


@EVERY
def test_a_vendor_can_be_called_at_its_own_address(known: Vendor) -> None:
    assert Dialect(known.api) in PROTOCOLS
    assert str(call_url(known.id, known.base_url, Dialect(known.api))).startswith(known.base_url)


@EVERY
def test_a_key_travels_over_tls_or_stays_on_this_machine(known: Vendor) -> None:
    parts = urlsplit(known.base_url)
    assert parts.scheme == "https" or (parts.hostname == "127.0.0.1" and not known.needs_key)
    assert known.env or not known.needs_key


@pytest.mark.parametrize("text", ["", "unknown", "https://[", "http://[::1", "//", "https://example.com"])
def test_what_is_unknown_is_none_and_never_an_error(text: str) -> None:
    assert vendor(text) is None and by_host(text) is None
