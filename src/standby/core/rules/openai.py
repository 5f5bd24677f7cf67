"""Law: OpenAI's codes (chat, Responses, Codex subscription) and Azure's, for those providers only."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

CODEX = Family(
    frozenset({"openai-codex", "openai"}),
    (
        Rule("codex.not_included", R.BILLING, code=("usage_not_included",)),
        Rule("codex.plan", R.BILLING, text=("to use codex with your chatgpt plan",)),
        Rule(
            "codex.workspace",
            R.RATE_LIMIT,
            code=any_of(
                "workspace_owner_usage_limit_reached | workspace_member_usage_limit_reached | "
                "workspace_usage_limit_reached"
            ),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "codex.credits",
            R.BILLING,
            code=any_of(
                "workspace_owner_credits_depleted | workspace_member_credits_depleted | "
                "workspace_credits_depleted | credits_depleted"
            ),
        ),
        Rule(
            "codex.usage_limit",
            R.RATE_LIMIT,
            code=any_of(
                "usage_limit_reached | usage_limit_exceeded | rate_limit_reached_type | "
                "usagelimitexceeded | usage_limit"
            ),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "codex.usage_text",
            R.RATE_LIMIT,
            text=any_of("hit your usage limit | usage limit has been reached | usage limit reached"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "codex.quota_text",
            R.BILLING,
            text=any_of("^quota exceeded check your plan | plan and billing details"),
            unless=("try again",),
        ),
        Rule("codex.capacity", R.OVERLOADED, text=any_of("selected model is at capacity | experiencing high demand")),
        Rule("codex.overloaded", R.OVERLOADED, code=("server_is_overloaded",)),
        Rule("codex.inner_retries", R.RATE_LIMIT, text=("exceeded retry limit last status 429",), scope=S.PROFILE),
    ),
)
OPENAI = Family(
    frozenset({"openai", "openai-codex", "azure-openai"}),
    (
        Rule(
            "openai.quota",
            R.BILLING,
            code=any_of("insufficient_quota | billing_hard_limit_reached | billing_not_active"),
        ),
        Rule(
            "openai.quota_text",
            R.BILLING,
            text=any_of("exceeded your current quota | billing hard limit has been reached"),
        ),
        Rule("openai.prompt_flagged", R.REFUSAL, code=("invalid_prompt",), category="policy"),
        Rule(
            "openai.processing_error",
            R.SERVER_ERROR,
            text=any_of("server had an error | error occurred while processing your request"),
            status=(0, 2, 5),
        ),
        Rule(
            "openai.engine_overloaded",
            R.OVERLOADED,
            text=any_of(
                "engine is currently overloaded | model is currently overloaded | "
                "server is overloaded | overloaded with other requests"
            ),
        ),
    ),
)
AZURE = Family(
    frozenset({"azure-openai"}),
    (
        Rule(
            "azure.filter", R.REFUSAL, code=any_of("content_filter | responsibleaipolicyviolation"), category="policy"
        ),
        Rule("azure.deployment", R.MODEL_NOT_FOUND, code=("deploymentnotfound",)),
        Rule(
            "azure.capacity",
            R.OVERLOADED,
            code=any_of("nocapacity | no_capacity"),
            text=("system is currently experiencing high demand",),
        ),
    ),
)
FAMILIES = (CODEX, AZURE, OPENAI)
