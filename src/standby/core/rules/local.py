"""Law: self-hosted engines speak in their own words; a machine of ours has no account to blame."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

VLLM = Family(
    frozenset({"vllm"}),
    (
        Rule(
            "vllm.engine",
            R.SERVER_ERROR,
            text=any_of(
                "enginecore encountered an issue | engine is dead | engine loop is not running | enginedeaderror"
            ),
        ),
        Rule(
            "vllm.flags",
            R.FORMAT,
            text=any_of("tool choice requires | enable auto tool choice"),
            fallback=True,
            category="capability",
        ),
        Rule(
            "vllm.multimodal",
            R.FORMAT,
            text=any_of("is not a multimodal model | at most ... image"),
            fallback=True,
            category="capability",
        ),
    ),
)
LMSTUDIO = Family(
    frozenset({"lmstudio"}),
    (
        Rule(
            "lmstudio.overflow",
            R.CONTEXT_OVERFLOW,
            text=any_of("number of tokens to keep from the initial prompt | reached context length | context overflow"),
        ),
        Rule(
            "lmstudio.no_model",
            R.MODEL_NOT_FOUND,
            text=any_of("no models loaded | model unloaded | failed to load model"),
        ),
        Rule(
            "lmstudio.crash", R.SERVER_ERROR, text=any_of("model has crashed | the model has crashed | channel error")
        ),
    ),
)
LLAMACPP = Family(
    frozenset({"llamacpp"}),
    (
        Rule("llamacpp.overflow", R.CONTEXT_OVERFLOW, code=("exceed_context_size_error",)),
        Rule(
            "llamacpp.flags",
            R.FORMAT,
            text=any_of("requires jinja | tools param requires"),
            fallback=True,
            category="capability",
        ),
        Rule("llamacpp.loading", R.OVERLOADED, text=("loading model",), rotate=False),
        Rule("llamacpp.slots", R.OVERLOADED, text=("no slot available",)),
    ),
)
OLLAMA = Family(
    frozenset({"ollama", "ollama-cloud"}),
    (
        Rule(
            "ollama.window",
            R.RATE_LIMIT,
            text=any_of(
                "weekly usage limit | hourly usage limit | daily usage limit | session usage limit | usage limit"
            ),
            scope=S.PROFILE,
            long=True,
        ),
        Rule("ollama.pull", R.MODEL_NOT_FOUND, text=any_of("try pulling it first | model ... not found")),
        Rule("ollama.busy", R.OVERLOADED, text=any_of("server busy | maximum pending requests exceeded")),
        Rule(
            "ollama.thinking",
            R.FORMAT,
            text=any_of("does not support thinking | think value"),
            retry=True,
            fallback=True,
            category="thinking",
        ),
        Rule(
            "ollama.tools",
            R.FORMAT,
            text=any_of("does not support tools | does not support generate | does not support chat"),
            fallback=True,
            category="capability",
        ),
        Rule(
            "ollama.overflow",
            R.CONTEXT_OVERFLOW,
            text=any_of(
                "input length exceeds | context length | too many tokens | context window | "
                "truncating input ... too long"
            ),
        ),
        Rule(
            "ollama.memory",
            R.SERVER_ERROR,
            text=any_of("requires more system memory | model requires more | unable to allocate"),
            scope=S.MODEL,
            retry=False,
            rotate=False,
        ),
        Rule(
            "ollama.runner",
            R.SERVER_ERROR,
            text=any_of(
                "runner process | stream ended without a final response | "
                "an error was encountered while running the model | unexpected server status"
            ),
        ),
    ),
)
FAMILIES = (VLLM, LMSTUDIO, LLAMACPP, OLLAMA)
