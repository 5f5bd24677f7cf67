"""Law: another gateway upstream (OpenRouter, LiteLLM, Portkey, one-api) wraps an error: its inside decides."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule

OPENROUTER = Family(frozenset({"openrouter"}), (
    Rule("openrouter.key_limit", R.BILLING, text=("key limit exceeded", "key limit reached", "key limit hit", "api key budget limit", "budget limit")),
    Rule("openrouter.credits", R.BILLING, text=("insufficient credits", "requires more credits", "can only afford", "never purchased credits", "add more credits")),
    Rule("openrouter.afford", R.BILLING, text=("prompt tokens limit exceeded", "fewer max tokens"), status=(402,)),
    Rule("openrouter.disconnected", R.TIMEOUT, text=("provider disconnected", "disconnected unexpectedly")),
    Rule("openrouter.free_day", R.RATE_LIMIT, text=("free models per day", "per day high balance", "per day"), scope=S.PROFILE, long=True),
    Rule("openrouter.free_minute", R.RATE_LIMIT, text=("free models per min",), scope=S.PROFILE),
    Rule("openrouter.moderation", R.REFUSAL, text=("requires moderation", "was flagged", "input was flagged"), category="policy"),
    Rule("openrouter.data_policy", R.MODEL_NOT_FOUND, text=("no endpoints found", "no allowed providers", "matching your data policy"), unless=("support image", "support tool use")),
    Rule("openrouter.upstream_rate", R.RATE_LIMIT, text=("temporarily rate limited upstream", "rate limited upstream")),
))  # fmt: skip
LITELLM = Family(frozenset({"litellm", "portkey", "one-api", "new-api", "custom-openai"}), (
    Rule("litellm.budget", R.BILLING, code=("budget_exceeded",)),
    Rule("litellm.model_access", R.MODEL_NOT_FOUND, code=("key_model_access_denied", "team_model_access_denied", "user_model_access_denied", "org_model_access_denied"), rotate=True),
    Rule("litellm.expired", R.AUTH, code=("expired_key", "token_not_found_in_db", "auth_error")),
    Rule("litellm.no_deployment", R.RATE_LIMIT, text=("no deployments available for selected model", "no deployments available")),
    Rule("oneapi.quota", R.BILLING, code=("insufficient_user_quota", "pre_consume_token_quota_failed")),
    Rule("oneapi.channel", R.MODEL_NOT_FOUND, text=("no available channel", "无可用渠道"), fallback=True),
))  # fmt: skip
FAMILIES = (OPENROUTER, LITELLM)
