"""Law: what a reason does is one row here (SPEC 6.1); no other module branches on a reason to decide it."""

from dataclasses import dataclass
from enum import StrEnum


class FailureReason(StrEnum):
    """Why a model call failed. The spelling is an interface fact (SPEC 6)."""

    AUTH = "auth"
    AUTH_PERMANENT = "auth_permanent"
    BILLING = "billing"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    TLS_CERTIFICATE = "tls_certificate"
    MODEL_NOT_FOUND = "model_not_found"
    FORMAT = "format"
    CONTEXT_OVERFLOW = "context_overflow"
    SESSION_EXPIRED = "session_expired"
    REFUSAL = "refusal"
    EMPTY_RESPONSE = "empty_response"
    NO_ERROR_DETAILS = "no_error_details"
    UNCLASSIFIED = "unclassified"
    UNKNOWN = "unknown"
    LOCAL = "local"
    ABORTED = "aborted"
    NONE = "none"


class Scope(StrEnum):
    """How far a verdict reaches: what may be cooled or skipped because of it."""

    REQUEST = "request"
    MODEL = "model"
    PROFILE = "profile"
    PROVIDER = "provider"
    NONE = "none"


class Mark(StrEnum):
    """What a failure writes into the health of the profile (SPEC 6.1, column "marks")."""

    NOTHING = "nothing"
    COOLDOWN = "cooldown"
    MODEL_COOLDOWN = "model_cooldown"
    DISABLE = "disable"
    ROUTE = "route"


@dataclass(frozen=True, slots=True)
class Traits:
    """One row of SPEC 6.1. A rule may override the three flags and the scope for its own evidence."""

    scope: Scope
    retry_same: bool
    """Eligible for same-model recovery (SPEC 8.1)."""
    rotate: bool
    """Another profile of the same provider may be tried."""
    fallback: bool
    """The next model of the chain may be tried."""
    marks: Mark
    one_rotation: bool = False
    """At most one rotation while another candidate remains (SPEC 8.6)."""
    probe_sibling: bool = False
    """A sibling of the provider may be tried although every profile cools for this reason (SPEC 9.2)."""
    ends_probe_slot: bool = True
    """A probe that fails for this reason uses up the provider's one probe of the run (SPEC 9.2)."""
    skip_cache: bool = False
    """Marks the skip cache for a candidate that is not the primary (SPEC 9.3)."""
    skips_provider: bool = False
    """The whole provider is skipped for the rest of the run."""
    retries: int | None = None
    """A cap of its own on same-model retries, whatever the general budget is."""
    http_status: int | None = None
    """Shown when the failure itself had no status (REFERENCE 1)."""
    severity: int = 0
    """Which reason stands for several (REFERENCE 3.11): the larger one wins."""


R, S, M = FailureReason, Scope, Mark

# fmt: off
TRAITS: dict[FailureReason, Traits] = {
    R.AUTH: Traits(
        S.PROFILE, False, True, True, M.COOLDOWN, skip_cache=True, ends_probe_slot=False, http_status=401, severity=110
    ),
    R.AUTH_PERMANENT: Traits(
        S.PROFILE, False, True, True, M.DISABLE, skip_cache=True, ends_probe_slot=False, http_status=403, severity=120
    ),
    R.BILLING: Traits(S.PROFILE, False, True, True, M.DISABLE, http_status=402, severity=90),
    R.RATE_LIMIT: Traits(
        S.MODEL, True, True, True, M.MODEL_COOLDOWN, one_rotation=True, probe_sibling=True, http_status=429, severity=40
    ),
    R.OVERLOADED: Traits(
        S.MODEL, True, True, True, M.ROUTE, one_rotation=True, probe_sibling=True, http_status=503, severity=60
    ),
    R.SERVER_ERROR: Traits(S.PROVIDER, True, True, True, M.ROUTE, probe_sibling=True, http_status=500, severity=55),
    R.TIMEOUT: Traits(S.REQUEST, True, True, True, M.MODEL_COOLDOWN, probe_sibling=True, http_status=408, severity=50),
    R.TLS_CERTIFICATE: Traits(
        S.PROVIDER,
        False,
        False,
        True,
        M.NOTHING,
        skips_provider=True,
        ends_probe_slot=False,
        http_status=502,
        severity=45,
    ),
    R.MODEL_NOT_FOUND: Traits(
        S.MODEL, False, False, True, M.MODEL_COOLDOWN, ends_probe_slot=False, http_status=404, severity=70
    ),
    R.FORMAT: Traits(S.REQUEST, False, False, False, M.NOTHING, ends_probe_slot=False, http_status=400, severity=80),
    R.CONTEXT_OVERFLOW: Traits(S.REQUEST, False, False, False, M.NOTHING, http_status=413, severity=75),
    R.SESSION_EXPIRED: Traits(
        S.REQUEST, True, False, True, M.COOLDOWN, ends_probe_slot=False, retries=1, http_status=410, severity=100
    ),
    R.REFUSAL: Traits(S.REQUEST, False, False, False, M.NOTHING, severity=130),
    R.EMPTY_RESPONSE: Traits(S.REQUEST, True, False, True, M.NOTHING, probe_sibling=True, severity=30),
    R.NO_ERROR_DETAILS: Traits(S.REQUEST, True, False, True, M.NOTHING, probe_sibling=True, retries=3, severity=25),
    R.UNCLASSIFIED: Traits(S.NONE, False, False, True, M.NOTHING, probe_sibling=True, severity=20),
    R.UNKNOWN: Traits(S.NONE, False, False, False, M.NOTHING, probe_sibling=True, severity=10),
    R.LOCAL: Traits(S.NONE, False, False, False, M.NOTHING, http_status=503, severity=5),
    R.ABORTED: Traits(S.NONE, False, False, False, M.NOTHING, http_status=499, severity=4),
    R.NONE: Traits(S.NONE, False, False, False, M.NOTHING, severity=0),
}
# fmt: on
"""One row a reason; a table is read in rows, so the formatter keeps out."""
