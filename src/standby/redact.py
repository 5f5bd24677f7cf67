"""Law: what leaves this function holds no secret in a known shape. Pure, linear, standard library only (SPEC 5)."""

import re

MASK = "[redacted]"

_PEM = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,8192}?(?:-----END [A-Z ]{0,40}-----|\Z)")
_USERINFO = re.compile(r"(://)[^\s/@:]{1,256}(?::[^\s/@]{0,256})?@")
_RUN = re.compile(r"[A-Za-z0-9_.~+/=-]{14,}")
_PART = re.compile(r"[A-Za-z0-9_.~+=-]{14,}")
_KEYLIKE = re.compile(
    r"(?:sk|pk|rk|xai|gsk|hf|nvapi|csk|fw|pplx|r8|tvly|AIza|ya29|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs]|whsec|"
    r"sess|oauth|rt|at|key|ak)[-_.][A-Za-z0-9_.-]{8,}"
)
_CERTAIN = re.compile(
    r"sk-[A-Za-z0-9_-]{6,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]*|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|"
    r"ya29\.[A-Za-z0-9_-]{8,}|(?:gsk|ghp|gho|ghu|ghs|hf|xai|nvapi|csk|pplx|github_pat)[-_][A-Za-z0-9_]{10,}|[A-Fa-f0-9]{32,}"
)
_BEARER = re.compile(r"\b(bearer|basic)(\s{1,4})(?=[^\s\"',;]{0,256}[0-9_.=-])([A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_NAMED = re.compile(
    r"((?:key|token|secret|password|passwd|authorization|signature|sig|credential)[\"']?\s{0,4}[=:]\s{0,4}[\"']?)"
    r"(?!bearer\b|basic\b)([A-Za-z0-9._~+/%=-]{6,})",
    re.IGNORECASE,
)
_NAMES = ("key", "token", "secret", "passw", "authorization", "sig", "credential")
_LONG = 40
"""A run at least this long that mixes digits and both cases is a blob, whatever it is called."""


def redact(text: str) -> str:
    """The text with everything that looks like a key, token, password or signed blob masked (SPEC 5, 14)."""
    if "-----BEGIN" in text:
        text = _PEM.sub(MASK, text)
    if "://" in text and "@" in text:
        text = _USERINFO.sub(rf"\1{MASK}@", text)
    lower = text.lower()
    if "bearer" in lower or "basic" in lower:
        text = _BEARER.sub(rf"\1\2{MASK}", text)
    if ("=" in text or ":" in text) and any(name in lower for name in _NAMES):
        text = _NAMED.sub(_named, text)
    return _RUN.sub(_run, text)


def _named(found: re.Match[str]) -> str:
    """`token: expired` is a sentence, `token=8f3...` a secret: a short word without digits or capitals stays."""
    value = found.group(2)
    plain = len(value) < 20 and value.replace("_", "").replace(".", "").isalpha() and value.islower()
    return found.group(0) if plain else found.group(1) + MASK


def _run(found: re.Match[str]) -> str:
    """Mask the secrets in one unbroken run of key characters; a path is looked at piece by piece."""
    run = found.group(0)
    if run.islower() and run.replace("_", "").replace("-", "").isalpha():
        return run
    if "/" not in run:
        return _piece(run)
    return MASK if _blob(run) and "." not in run else _PART.sub(lambda part: _piece(part.group(0)), run)


def _piece(piece: str) -> str:
    start = piece.lstrip("._=~+-")
    certain = _CERTAIN.search(piece)
    if certain:
        return piece[: certain.start()] + MASK
    if _KEYLIKE.match(start) and any(c.isdigit() or c.isupper() for c in start[3:]) and "." not in start[4:-1]:
        return MASK
    return MASK if _blob(piece) else piece


def _blob(run: str) -> bool:
    if len(run) < _LONG:
        return False
    return any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run))
