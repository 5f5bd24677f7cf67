"""Law: what leaves this function holds no secret in a known shape. Pure, linear, standard library only (SPEC 5)."""

import re

MASK = "[redacted]"

_PREFIXED = (
    r"\b(?:sk|pk|rk|xai|gsk|hf|nvapi|csk|fw|pplx|r8|tvly|AIza|ya29|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs]|whsec|"
    r"sess|oauth|rt|at|co|dop_v1|key)[-_.](?=[A-Za-z0-9_.-]{0,60}[0-9A-Z])[A-Za-z0-9_.-]{12,512}"
)
_SHAPES = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,8192}?(?:-----END|\Z)",
    r"\beyJ[A-Za-z0-9_-]{8,4096}(?:\.[A-Za-z0-9_-]{0,4096}){1,2}",
    r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,20}\b",
    r"\bAIza[A-Za-z0-9_-]{20,80}",
    r"\bya29\.[A-Za-z0-9_-]{10,512}",
    _PREFIXED,
    r"\bsk-[A-Za-z0-9_-]{6,512}",
    r"\b[A-Fa-f0-9]{32,512}\b",
)
_WHOLE = re.compile("|".join(f"(?:{shape})" for shape in _SHAPES))
_BEARER = re.compile(r"\b(bearer|basic|token)(\s{1,4})(?=[^\s\"',;]{0,512}[0-9_.=-])[A-Za-z0-9._~+/=-]{8,4096}", re.IGNORECASE)
_NAMED = re.compile(
    r"((?:api[-_ ]?key|x-goog-api-key|authorization|access[-_]?token|refresh[-_]?token|id[-_]?token|client[-_]?secret|"
    r"secret[-_]?access[-_]?key|session[-_]?token|password|passwd|secret|\bkey|\btoken|\bsig(?:nature)?|x-amz-[a-z]{4,16}-?token)"
    r"[\"']?\s{0,4}[=:]\s{0,4}[\"']?)(?!bearer\b|basic\b)([A-Za-z0-9._~+/%=-]{6,4096})",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(://)[^\s/@:]{1,256}(?::[^\s/@]{0,256})?@")
_PIECE = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
_PLAIN = frozenset({"string", "required", "invalid", "missing", "expired"})


def redact(text: str) -> str:
    """The text with everything that looks like a key, token, password or signed blob masked (SPEC 5, 14)."""
    text = _USERINFO.sub(rf"\1{MASK}@", text)
    text = _WHOLE.sub(MASK, text)
    text = _BEARER.sub(rf"\1\2{MASK}", text)
    text = _NAMED.sub(_named, text)
    return _PIECE.sub(_blob, text)


def _named(found: re.Match[str]) -> str:
    value = found.group(2)
    wordy = value.isalpha() and (value.islower() or value.lower() in _PLAIN)
    return found.group(0) if wordy and len(value) < 16 else found.group(1) + MASK


def _blob(found: re.Match[str]) -> str:
    """Mask a long run that mixes digits with both cases: words, paths and model ids do not."""
    run = found.group(0)
    mixed = any(c.isdigit() for c in run) and any(c.isupper() for c in run) and any(c.islower() for c in run)
    return MASK if mixed else run
