"""Law: what is pasted as a key is one, or an error says what it is and what to do, without repeating it."""

import re

from standby.errors import Misconfigured

_QUOTES = "\"'`\u2018\u2019\u201c\u201d"
_ASSIGNMENT = re.compile(r"(?i)^(?:export\s+|set\s+|setx\s+|\$env:)?[A-Z][A-Z0-9_]{2,80}(?:\s*=\s*[^\s=]|\s*:\s+\S)")
_COMMAND = re.compile(r"(?i)^\$?\s*(?:curl|wget|export|set|echo|pip|npm|npx|python3?|openclaw|standby|sudo|cat)\s")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET)")
_PLACEHOLDER = re.compile(
    r"(?i)(?:your|my|the)[-_ ]?(?:\w+[-_ ])?(?:api[-_ ]?)?(?:key|token)[-_ ]?(?:here)?|<.*>|x{6,}|sk-\.+"
)
_MASKED = re.compile(r"\*{3,}|\u2026|\u2022{3,}|\.{3}")
_PREFIXES = (
    ("sk-ant-", "anthropic", "Anthropic"),
    ("sk-or-", "openrouter", "OpenRouter"),
    ("sk-proj-", "openai", "OpenAI"),
    ("sk-svcacct-", "openai", "OpenAI"),
    ("gsk_", "groq", "Groq"),
    ("AIza", "gemini", "Google"),
    ("xai-", "xai", "xAI"),
    ("nvapi-", "nvidia", "NVIDIA"),
    ("csk-", "cerebras", "Cerebras"),
    ("fw_", "fireworks", "Fireworks"),
    ("pplx-", "perplexity", "Perplexity"),
    ("hf_", "huggingface", "Hugging Face"),
    ("ghp_", "github", "GitHub"),
    ("github_pat_", "github", "GitHub"),
)
_OWNERS = frozenset(owner for _, owner, _ in _PREFIXES) | {
    "mistral",
    "deepseek",
    "together",
    "moonshot",
    "zai",
    "minimax",
}
_SAME = {"google": "gemini", "github-models": "github", "fireworks-ai": "fireworks"}


def check_key(text: str, provider: str | None = None) -> str:
    """The key without surrounding blanks (SPEC 2).

    `provider` given: a key that plainly belongs to another well-known provider is refused as well. Raises
    Misconfigured; its message never repeats the text.
    """
    key = text.strip()
    fault = _fault(key) or (_foreign(key, provider) if provider else None)
    if fault:
        raise Misconfigured(f"this is not an API key: {fault}")
    return key


def _fault(key: str) -> str | None:
    """What the text is instead of a key, with the remedy; None when it may be one."""
    if not key:
        return "it is empty: paste the key itself"
    if key.lower().startswith(("bearer ", "authorization:", "x-api-key:")):
        return "it is a whole header: paste only the key, without the word before it"
    if key.startswith(("http://", "https://")):
        return "it is an address: paste the key; the address belongs in baseUrl"
    if _ASSIGNMENT.match(key) or _COMMAND.match(key):
        return "it is a shell command or an assignment: paste only the part after the '=', without quotes"
    if key[0] in _QUOTES or key[-1] in _QUOTES:
        return "it has quotes around it: paste it without them"
    return _unfit(key)


def _unfit(key: str) -> str | None:
    if "\n" in key or "\r" in key:
        return "it has a line break inside: paste it as one line"
    if any(char.isspace() for char in key):
        return "it has a blank inside: paste the key alone"
    if key.startswith("{"):
        return "it is a JSON file: service accounts are set up with `standby models auth add`"
    if _VARIABLE.fullmatch(key):
        return f"it is the name of a variable: write ${{{key}}} to take the value from the environment"
    if _MASKED.search(key) or _PLACEHOLDER.fullmatch(key):
        return "it is a placeholder or a masked key: copy the whole key from the provider's console"
    if not (key.isascii() and key.isprintable()):
        return "it has characters that no key has: copy it again from the provider's console"
    return "it is too long: paste the key alone" if len(key) > 8192 else None


def _foreign(key: str, provider: str) -> str | None:
    asked = _SAME.get(provider, provider)
    for prefix, owner, name in _PREFIXES:
        if key.startswith(prefix):
            strange = asked in _OWNERS and owner != asked
            return (
                f"it begins like a key of {name}, not of {provider}: choose the other provider or key"
                if strange
                else None
            )
    return None
