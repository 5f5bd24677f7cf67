"""Law: a compatible vendor is one line of this table (SPEC 2; ARCHITECTURE, "One place for each new thing")."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from standby.wires.flavor import Flavor

CHAT, MESSAGES, GOOGLE = "openai-chat", "anthropic-messages", "google-generative-ai"


PLAIN = Flavor(max_tokens="max_tokens", developer_role=False)
"""What nearly every compatible server understands."""
NO_REASONING = Flavor(max_tokens="max_tokens", developer_role=False, reasoning="")


@dataclass(frozen=True, slots=True)
class Vendor:
    """What is known of a provider without any configuration."""

    id: str
    base_url: str
    """As the vendor's own SDK takes it: OpenAI style with its version part, Anthropic without."""
    api: str = CHAT
    env: tuple[str, ...] = ()
    """Environment variables that may hold a key, first found first."""
    default_model: str | None = None
    aliases: tuple[str, ...] = ()
    needs_key: bool = True
    hosts: tuple[str, ...] = ()
    """Host names that mean this provider; their subdomains do too."""
    flavor: Flavor = PLAIN
    """How it speaks its protocol."""
    cooldowns: bool = True
    """False: it manages limits by itself, nothing is marked."""


def _all(*vendors: Vendor) -> Mapping[str, Vendor]:
    return {vendor.id: vendor for vendor in vendors}


VENDORS: Mapping[str, Vendor] = _all(
    Vendor("anthropic", "https://api.anthropic.com", MESSAGES, ("ANTHROPIC_API_KEY",), "claude-opus-4-8", ("claude",), hosts=("api.anthropic.com",), flavor=Flavor()),
    Vendor("openai", "https://api.openai.com/v1", CHAT, ("OPENAI_API_KEY",), "gpt-5.6", hosts=("api.openai.com",), flavor=Flavor()),
    Vendor("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", CHAT, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini-3-pro", ("google", "google-gemini", "google-ai-studio", "googleai"), hosts=("generativelanguage.googleapis.com",)),
    Vendor("openrouter", "https://openrouter.ai/api/v1", CHAT, ("OPENROUTER_API_KEY",), "anthropic/claude-opus-4.8", aliases=("open-router",), hosts=("openrouter.ai",), flavor=Flavor(max_tokens="max_tokens", developer_role=False, reasoning="reasoning", cache_control=True, top_k=True), cooldowns=False),
    Vendor("groq", "https://api.groq.com/openai/v1", CHAT, ("GROQ_API_KEY",), "openai/gpt-oss-120b", hosts=("api.groq.com",)),
    Vendor("deepseek", "https://api.deepseek.com/v1", CHAT, ("DEEPSEEK_API_KEY",), "deepseek-chat", hosts=("api.deepseek.com",), flavor=NO_REASONING),
    Vendor("mistral", "https://api.mistral.ai/v1", CHAT, ("MISTRAL_API_KEY",), "mistral-large-latest", ("mistralai", "mistral-ai"), hosts=("api.mistral.ai",), flavor=Flavor(max_tokens="max_tokens", developer_role=False, reasoning="", without=frozenset({"stream_options", "user", "store"}))),
    Vendor("xai", "https://api.x.ai/v1", CHAT, ("XAI_API_KEY",), "grok-4", ("grok", "x-ai"), hosts=("api.x.ai",)),
    Vendor("together", "https://api.together.xyz/v1", CHAT, ("TOGETHER_API_KEY",), "meta-llama/Llama-3.3-70B-Instruct-Turbo", ("togetherai", "together-ai"), hosts=("api.together.xyz", "api.together.ai")),
    Vendor("fireworks", "https://api.fireworks.ai/inference/v1", CHAT, ("FIREWORKS_API_KEY",), "accounts/fireworks/models/deepseek-v3", ("fireworks-ai",), hosts=("api.fireworks.ai",)),
    Vendor("moonshot", "https://api.moonshot.ai/v1", CHAT, ("MOONSHOT_API_KEY",), "kimi-k2-turbo-preview", ("kimi", "moonshotai", "moonshot-ai"), hosts=("api.moonshot.ai", "api.moonshot.cn")),
    Vendor("zai", "https://api.z.ai/api/paas/v4", CHAT, ("ZAI_API_KEY", "ZHIPU_API_KEY"), "glm-4.6", ("zhipu", "z-ai", "z.ai", "zhipuai", "bigmodel", "glm"), hosts=("api.z.ai", "open.bigmodel.cn")),
    Vendor("qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", CHAT, ("DASHSCOPE_API_KEY", "QWEN_API_KEY"), "qwen-max", ("dashscope", "alibaba", "aliyun", "bailian", "tongyi", "modelstudio"), hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com")),
    Vendor("minimax", "https://api.minimax.io/v1", CHAT, ("MINIMAX_API_KEY",), "MiniMax-M2", ("minimaxi",), hosts=("api.minimax.io", "api.minimaxi.com", "api.minimax.chat")),
    Vendor("cerebras", "https://api.cerebras.ai/v1", CHAT, ("CEREBRAS_API_KEY",), "gpt-oss-120b", hosts=("api.cerebras.ai",)),
    Vendor("nvidia", "https://integrate.api.nvidia.com/v1", CHAT, ("NVIDIA_API_KEY",), "meta/llama-3.3-70b-instruct", ("nvidia-nim", "nim"), hosts=("integrate.api.nvidia.com",)),
    Vendor("github-models", "https://models.github.ai/inference", CHAT, ("GITHUB_MODELS_TOKEN",), "openai/gpt-4.1", ("github",), hosts=("models.github.ai", "models.inference.ai.azure.com"), flavor=Flavor()),
    Vendor("perplexity", "https://api.perplexity.ai", CHAT, ("PERPLEXITY_API_KEY",), "sonar-pro", ("pplx",), hosts=("api.perplexity.ai",)),
    Vendor("cohere", "https://api.cohere.ai/compatibility/v1", CHAT, ("COHERE_API_KEY", "CO_API_KEY"), "command-a-03-2025", ("cohere-ai",), hosts=("api.cohere.ai", "api.cohere.com")),
    Vendor("siliconflow", "https://api.siliconflow.com/v1", CHAT, ("SILICONFLOW_API_KEY",), None, ("silicon-flow",), hosts=("api.siliconflow.com", "api.siliconflow.cn")),
    Vendor("huggingface", "https://router.huggingface.co/v1", CHAT, ("HF_TOKEN", "HUGGINGFACE_API_KEY"), None, ("hf", "hugging-face"), hosts=("huggingface.co",)),
    Vendor("volcengine", "https://ark.cn-beijing.volces.com/api/v3", CHAT, ("ARK_API_KEY", "VOLCENGINE_API_KEY"), None, ("volc", "ark", "doubao"), hosts=("volces.com",)),
    Vendor("ollama", "http://127.0.0.1:11434/v1", needs_key=False),
    Vendor("vllm", "http://127.0.0.1:8000/v1", needs_key=False),
    Vendor("lmstudio", "http://127.0.0.1:1234/v1", aliases=("lm-studio",), needs_key=False),
    Vendor("llamacpp", "http://127.0.0.1:8080/v1", aliases=("llama.cpp", "llama-cpp"), needs_key=False),
)  # fmt: skip

_BY_NAME: Mapping[str, Vendor] = {name: vendor for vendor in VENDORS.values() for name in (vendor.id, *vendor.aliases)}
_BY_HOST: Mapping[str, Vendor] = {host: vendor for vendor in VENDORS.values() for host in vendor.hosts}


def vendor(name: str) -> Vendor | None:
    """The vendor of an id or alias; None for a provider that only the configuration knows."""
    return _BY_NAME.get(name.strip().lower())


def by_host(url: str) -> Vendor | None:
    """The vendor whose host a URL (or bare host) names."""
    try:
        host = (urlsplit(url if "//" in url else f"//{url}").hostname or "").rstrip(".")
    except ValueError:
        return None
    while host:
        if host in _BY_HOST:
            return _BY_HOST[host]
        host = host.partition(".")[2]
    return None
