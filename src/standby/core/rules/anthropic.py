"""Law: Anthropic's error types and Claude subscription wordings, for those providers only."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

ANTHROPIC = Family(
    frozenset({"anthropic", "claude-subscription"}),
    (
        Rule(
            "anthropic.spend_limit",
            R.RATE_LIMIT,
            code=any_of("enforced_spend_limit_reached | spend_limit_reached | usage_limit_reached"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "anthropic.usage_limits",
            R.RATE_LIMIT,
            text=any_of("api usage limits | will regain access"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "anthropic.extra_usage",
            R.BILLING,
            text=any_of(
                "out of extra usage | extra usage is required | draw from your extra usage | "
                "third party apps now draw | extra usage ... required | out of usage credits"
            ),
            unless=("resets",),
        ),
        Rule(
            "anthropic.long_context_credits",
            R.BILLING,
            text=any_of("long context beta ... not yet available | usage credits are required for long context"),
            rotate=True,
        ),
        Rule(
            "anthropic.subscription_limit",
            R.RATE_LIMIT,
            text=any_of(
                "out of extra usage ... resets | usage limit reached | hit your limit ... resets | youve hit your limit | "
                "hour limit reached | limit reached ... resets | hit your ... limit | "
                "weekly limit reached | opus limit reached"
            ),
            scope=S.PROFILE,
            long=True,
            unless=("not your usage limit",),
        ),
        Rule(
            "anthropic.token_exchange", R.RATE_LIMIT, text=("rate limited the oauth token exchange",), scope=S.PROFILE
        ),
        Rule(
            "anthropic.concurrent",
            R.RATE_LIMIT,
            text=any_of("number of concurrent connections | concurrent connections has exceeded"),
            scope=S.PROFILE,
        ),
        Rule(
            "anthropic.organization_rate",
            R.RATE_LIMIT,
            text=any_of(
                "exceed the rate limit for your organization | organizations rate limit | "
                "acceleration limit | would exceed your accounts rate limit"
            ),
            scope=S.PROFILE,
            unless=any_of("tokens per minute | requests per minute"),
        ),
        Rule("anthropic.overloaded", R.OVERLOADED, code=("overloaded_error",), scope=S.PROVIDER),
        Rule("anthropic.overloaded_text", R.OVERLOADED, text=("529 overloaded",), scope=S.PROVIDER),
        Rule("anthropic.credential_kind", R.AUTH_PERMANENT, text=("only authorized for use with claude code",)),
        Rule(
            "anthropic.org_disabled",
            R.AUTH_PERMANENT,
            text=any_of(
                "this organization has been disabled | organization has been disabled | "
                "oauth authentication is currently not allowed for this organization | "
                "oauth token has been revoked | not allowed for this organization"
            ),
        ),
        Rule("anthropic.billing", R.BILLING, code=("billing_error",)),
        Rule("anthropic.too_large", R.CONTEXT_OVERFLOW, code=("request_too_large",)),
        Rule("anthropic.auth", R.AUTH, code=("authentication_error",)),
    ),
)
