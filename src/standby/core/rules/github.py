"""Law: GitHub Copilot's and GitHub Models' own codes, for those providers only."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

COPILOT = Family(
    frozenset({"github-copilot"}),
    (
        Rule("copilot.connection_item", R.SESSION_EXPIRED, text=("input item id does not belong to this connection",)),
        Rule(
            "copilot.weekly",
            R.RATE_LIMIT,
            text=any_of("weekly rate limit | monthly rate limit | session rate limit | daily rate limit"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "copilot.weekly_code",
            R.RATE_LIMIT,
            code=any_of("user_weekly_rate_limited | user_monthly_rate_limited | user_session_rate_limited"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "copilot.weekly_text",
            R.RATE_LIMIT,
            text=any_of("user weekly rate limited | user monthly rate limited"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "copilot.global",
            R.RATE_LIMIT,
            text=any_of("global rate limit | user global rate limited | exceeded your rate limits"),
            scope=S.PROFILE,
        ),
        Rule(
            "copilot.model_rate",
            R.RATE_LIMIT,
            text=any_of("user model rate limited | model rate limit | integration rate limited | agent rate limited"),
        ),
        Rule("copilot.premium", R.RATE_LIMIT, code=("quota_exceeded",), long=True),
        Rule(
            "copilot.premium_text",
            R.RATE_LIMIT,
            text=any_of(
                "premium request allowance | premium requests | no quota | exceeded your ... quota | "
                "exceeded your ... allowance"
            ),
            long=True,
        ),
        Rule("copilot.prompt", R.CONTEXT_OVERFLOW, code=("model_max_prompt_tokens_exceeded",)),
        Rule("copilot.token", R.AUTH, text=any_of("token expired | ide token | bad credentials")),
        Rule(
            "copilot.access",
            R.AUTH,
            text=any_of(
                "not authorized to use copilot | no access to github copilot | "
                "access to this endpoint is forbidden | not licensed | no copilot subscription"
            ),
        ),
    ),
)
MODELS = Family(
    frozenset({"github-models"}),
    (
        Rule(
            "models.day", R.RATE_LIMIT, text=any_of("per 86400s | userbymodelbyday | bymodelbyday | byday*"), long=True
        ),
        Rule("models.rate", R.RATE_LIMIT, code=("ratelimitreached",)),
        Rule(
            # A tier's ceiling for one request: the same model elsewhere takes more.
            "models.large",
            R.CONTEXT_OVERFLOW,
            code=("tokens_limit_reached",),
            fallback=True,
            category="request_size",
        ),
    ),
)
FAMILIES = (COPILOT, MODELS)
