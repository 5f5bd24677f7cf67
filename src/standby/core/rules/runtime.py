"""Law: a wording of the shared runtime names no provider, so nothing beyond the request is blamed for it."""

from standby.core.reasons import FailureReason as R
from standby.core.rules.rule import Family, Rule, any_of

RUNTIME = Family(
    frozenset({"runtime"}),
    (
        Rule(
            "runtime.stop_error",
            R.TIMEOUT,
            text=any_of("^unhandled stop reason error$ | ^stop reason error$ | ^reason error$ | ^finish reason error$"),
        ),
    ),
)
