"""Law: another gateway upstream (OpenRouter, LiteLLM, Portkey, one-api) wraps an error: its inside decides."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

OPENROUTER = Family(
    frozenset({"openrouter"}),
    (
        Rule(
            "openrouter.key_limit",
            R.BILLING,
            text=any_of("key limit exceeded | key limit reached | key limit hit | api key budget limit | budget limit"),
        ),
        Rule(
            "openrouter.credits",
            R.BILLING,
            text=any_of(
                "insufficient credits | requires more credits | can only afford | "
                "never purchased credits | add more credits"
            ),
        ),
        Rule(
            "openrouter.afford",
            R.BILLING,
            text=any_of("prompt tokens limit exceeded | fewer max tokens"),
            status=(402,),
        ),
        Rule("openrouter.disconnected", R.TIMEOUT, text=any_of("provider disconnected | disconnected unexpectedly")),
        Rule(
            "openrouter.free_day",
            R.RATE_LIMIT,
            text=any_of("free models per day | per day high balance | per day"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule("openrouter.free_minute", R.RATE_LIMIT, text=("free models per min",), scope=S.PROFILE),
        Rule(
            "openrouter.provider_terms",
            R.REFUSAL,
            text=any_of("violation of provider terms | prohibited due to"),
            category="policy",
        ),
        Rule(
            "openrouter.moderation",
            R.REFUSAL,
            text=any_of("requires moderation | was flagged | input was flagged"),
            category="policy",
        ),
        Rule(
            "openrouter.data_policy",
            R.MODEL_NOT_FOUND,
            text=any_of("matching your data policy | guardrail restrictions | all providers have been ignored"),
            rotate=True,
        ),
        Rule(
            "openrouter.no_endpoint",
            R.MODEL_NOT_FOUND,
            text=any_of("no endpoints found | no allowed providers"),
            unless=any_of("endpoints found that support*"),
        ),
        Rule(
            "openrouter.upstream_rate",
            R.RATE_LIMIT,
            text=any_of("temporarily rate limited upstream | rate limited upstream"),
        ),
    ),
)
LITELLM = Family(
    frozenset({"litellm", "portkey", "one-api", "new-api", "custom-openai"}),
    (
        Rule("litellm.budget", R.BILLING, code=("budget_exceeded",)),
        Rule(
            "litellm.model_access",
            R.MODEL_NOT_FOUND,
            code=any_of(
                "key_model_access_denied | team_model_access_denied | user_model_access_denied | "
                "org_model_access_denied"
            ),
            rotate=True,
        ),
        Rule("litellm.expired", R.AUTH, code=any_of("expired_key | token_not_found_in_db | auth_error")),
        Rule(
            "litellm.no_deployment",
            R.RATE_LIMIT,
            text=any_of("no deployments available for selected model | no deployments available"),
        ),
        Rule("oneapi.quota", R.BILLING, code=any_of("insufficient_user_quota | pre_consume_token_quota_failed")),
        Rule("oneapi.channel", R.MODEL_NOT_FOUND, text=any_of("no available channel | 无可用渠道"), fallback=True),
    ),
)
FAMILIES = (OPENROUTER, LITELLM)
