"""Law: the hosted model vendors' own names and wordings, each for itself."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

XAI = Family(
    frozenset({"xai"}),
    (
        Rule(
            "xai.credits",
            R.BILLING,
            text=any_of(
                "used all available credits | run out of credits | monthly spending limit | "
                "purchase more credits | raise your spending limit | need a grok subscription | "
                "any credits or licenses | add credits"
            ),
        ),
        Rule(
            "xai.safety",
            R.REFUSAL,
            text=any_of("failed check safety check* | violates usage guidelines"),
            category="safety",
        ),
        Rule("xai.rate", R.RATE_LIMIT, text=any_of("rate limit exceeded | too many requests")),
        Rule("xai.generation", R.SERVER_ERROR, text=("internal error during token generation",)),
    ),
)
MISTRAL = Family(
    frozenset({"mistral"}),
    (
        Rule("mistral.tier", R.RATE_LIMIT, text=("service tier capacity exceeded",)),
        Rule(
            "mistral.tier_code",
            R.RATE_LIMIT,
            code=any_of("3505 | service_tier_capacity_exceeded | 1300 | rate_limited"),
        ),
        Rule("mistral.prompt", R.CONTEXT_OVERFLOW, code=any_of("3051 | invalid_request_prompt_too_long")),
        Rule("mistral.model", R.MODEL_NOT_FOUND, code=any_of("1500 | invalid_model")),
        Rule("mistral.overloaded", R.OVERLOADED, code=any_of("3500 | service_unavailable"), status=(503,)),
        Rule("mistral.transcript", R.FORMAT, code=any_of("3230 | invalid_request_message_order")),
    ),
)
DEEPSEEK = Family(
    frozenset({"deepseek"}),
    (
        Rule("deepseek.balance", R.BILLING, text=("insufficient balance",)),
        Rule("deepseek.risk", R.REFUSAL, text=("content exists risk",), category="policy"),
    ),
)
TOGETHER = Family(
    frozenset({"together"}),
    (
        Rule(
            "together.concurrency",
            R.RATE_LIMIT,
            text=any_of("concurrency limit breached | concurrency limit reached"),
            scope=S.PROFILE,
        ),
        Rule("together.model_rate", R.RATE_LIMIT, code=("model_rate_limit",)),
        Rule("together.dynamic", R.RATE_LIMIT, code=any_of("dynamic_request_limited | dynamic_token_limited")),
        Rule("together.credits", R.BILLING, code=any_of("credit_limit | credit_limit_exceeded")),
    ),
)
COHERE = Family(
    frozenset({"cohere"}),
    (
        Rule(
            "cohere.trial",
            R.RATE_LIMIT,
            text=any_of("trial key ... limited to ... month | trial key ... calls month | limited to 1000 api calls"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule("cohere.trial_minute", R.RATE_LIMIT, text=("trial key",), scope=S.PROFILE),
        Rule("cohere.overflow", R.CONTEXT_OVERFLOW, text=("too many tokens",)),
        Rule("cohere.blocked", R.AUTH_PERMANENT, text=any_of("account has been blocked | api key has been blocked")),
    ),
)
HUGGINGFACE = Family(
    frozenset({"huggingface"}),
    (
        Rule("huggingface.credits", R.BILLING, text=any_of("monthly included credits | included credits")),
        Rule("huggingface.overloaded", R.OVERLOADED, code=("overloaded",)),
        Rule("huggingface.loading", R.OVERLOADED, text=("is currently loading",)),
        Rule(
            "huggingface.too_large",
            R.MODEL_NOT_FOUND,
            text=any_of("too large to be loaded automatically | no inference provider"),
        ),
        Rule("huggingface.generation", R.SERVER_ERROR, code=any_of("generation | incomplete_generation")),
        Rule("huggingface.overflow", R.CONTEXT_OVERFLOW, text=any_of("max new tokens must be | must have less than")),
    ),
)
NVIDIA = Family(
    frozenset({"nvidia-nim"}),
    (
        Rule("nvidia.credits", R.BILLING, text=any_of("cloud credits expired | credits expired | out of credits")),
        Rule("nvidia.function", R.MODEL_NOT_FOUND, text=any_of("not found for account | end of life")),
        Rule("nvidia.degraded", R.OVERLOADED, text=("degraded function cannot be invoked",)),
    ),
)
PERPLEXITY = Family(
    frozenset({"perplexity"}), (Rule("perplexity.quota", R.BILLING, text=("exceeded your current quota",)),)
)
CLOUDFLARE = Family(
    frozenset({"cloudflare-workers-ai"}),
    (
        Rule("cloudflare.neurons", R.RATE_LIMIT, code=("4006",), scope=S.PROFILE, long=True),
        Rule(
            "cloudflare.neurons_text",
            R.RATE_LIMIT,
            text=any_of("daily free allocation | neurons | quota limit exceeded"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule("cloudflare.capacity", R.OVERLOADED, code=("3040",)),
        Rule(
            "cloudflare.capacity_text",
            R.OVERLOADED,
            text=any_of("capacity temporarily exceeded | no more data centers | out of capacity"),
        ),
        Rule("cloudflare.model", R.MODEL_NOT_FOUND, code=any_of("5007 | 7000 | 7003")),
        Rule("cloudflare.licence", R.MODEL_NOT_FOUND, code=any_of("5016 | 5018 | 3041"), rotate=True),
        Rule("cloudflare.auth", R.AUTH, code=any_of("10000 | 9109 | 9106 | 10001 | 6003 | 6111 | 2009")),
        Rule("cloudflare.timeout", R.TIMEOUT, code=any_of("3007 | 3046")),
        Rule("cloudflare.limits", R.RATE_LIMIT, code=any_of("3036 | 971"), scope=S.PROFILE),
        Rule("cloudflare.internal", R.SERVER_ERROR, code=any_of("3001_internal | 3043 | 3050 | 1031")),
        Rule("cloudflare.account", R.AUTH_PERMANENT, code=("3023",)),
        Rule("cloudflare.overflow", R.CONTEXT_OVERFLOW, code=any_of("5021 | 3006 | 8007_tokens")),
        Rule("cloudflare.request", R.FORMAT, code=any_of("5006 | 5004 | 3003 | 3010 | 8001 | 8007")),
    ),
)
GROQ = Family(
    frozenset({"groq"}),
    (
        Rule("groq.restricted", R.AUTH_PERMANENT, code=("organization_restricted",)),
        Rule("groq.tool_use", R.SERVER_ERROR, code=("tool_use_failed",), scope=S.REQUEST, rotate=False),
        Rule("groq.capacity", R.OVERLOADED, code=("capacity_exceeded",)),
    ),
)
FAMILIES = (GROQ, CLOUDFLARE, XAI, MISTRAL, DEEPSEEK, TOGETHER, COHERE, HUGGINGFACE, NVIDIA, PERPLEXITY)
