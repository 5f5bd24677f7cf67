"""Law: a provider has one name here; aliases and base URL hosts lead to it, and an unknown id stays itself."""

from urllib.parse import urlsplit

ALIASES: dict[str, str] = {
    "azure": "azure-openai", "azure-openai-responses": "azure-openai", "azure_openai": "azure-openai", "azureopenai": "azure-openai",
    "azure-ai": "azure-openai", "azure-foundry": "azure-openai", "codex": "openai-codex", "codex-cli": "openai-codex",
    "chatgpt": "openai-codex", "openai-chatgpt": "openai-codex",
    "claude": "anthropic", "claude-api": "anthropic", "claude-cli": "claude-subscription", "claude-code": "claude-subscription",
    "claude-max": "claude-subscription", "claude-pro": "claude-subscription", "anthropic-oauth": "claude-subscription",
    "google": "gemini", "google-gemini": "gemini", "google-ai-studio": "gemini", "google-generative-ai": "gemini", "googleai": "gemini",
    "google-vertex": "vertex", "vertex-ai": "vertex", "vertexai": "vertex", "vertex_ai": "vertex", "google-vertex-anthropic": "vertex",
    "anthropic-vertex": "vertex", "antigravity": "google-antigravity", "google-gemini-cli": "google-antigravity",
    "gemini-cli": "google-antigravity", "cloud-code-assist": "google-antigravity", "cloudcode": "google-antigravity",
    "aws": "bedrock", "aws-bedrock": "bedrock", "amazon-bedrock": "bedrock", "amazon_bedrock": "bedrock", "sagemaker": "bedrock",
    "open-router": "openrouter", "x-ai": "xai", "grok": "xai", "together-ai": "together", "togetherai": "together",
    "together_ai": "together", "fireworks-ai": "fireworks", "fireworks_ai": "fireworks", "pplx": "perplexity", "mistralai": "mistral",
    "mistral-ai": "mistral", "codestral": "mistral", "copilot": "github-copilot", "github_copilot": "github-copilot",
    "github": "github-models", "github_models": "github-models", "hf": "huggingface", "hugging-face": "huggingface",
    "tgi": "huggingface", "cloudflare": "cloudflare-workers-ai", "workers-ai": "cloudflare-workers-ai", "workers_ai": "cloudflare-workers-ai",
    "cloudflare-ai-gateway": "cloudflare-workers-ai", "nvidia": "nvidia-nim", "nvidia_nim": "nvidia-nim", "nim": "nvidia-nim",
    "minimaxi": "minimax", "minimax-portal": "minimax", "minimax-cn": "minimax", "kimi": "moonshot", "moonshotai": "moonshot", "moonshot-ai": "moonshot",
    "kimi-code": "kimi-coding", "kimi-for-coding": "kimi-coding", "zai": "zhipu", "z.ai": "zhipu", "z-ai": "zhipu", "glm": "zhipu", "bigmodel": "zhipu",
    "zhipuai": "zhipu", "dashscope": "qwen", "alibaba": "qwen", "aliyun": "qwen", "bailian": "qwen", "modelstudio": "qwen", "qwen-portal": "qwen",
    "tongyi": "qwen", "volc": "volcengine", "volces": "volcengine", "ark": "volcengine", "doubao": "volcengine", "byteplus": "volcengine",
    "silicon-flow": "siliconflow", "silicon": "siliconflow", "ollama_cloud": "ollama-cloud", "lm-studio": "lmstudio", "lm_studio": "lmstudio",
    "llama.cpp": "llamacpp", "llama-cpp": "llamacpp", "llama-server": "llamacpp", "llama_cpp": "llamacpp", "cohere-ai": "cohere", "co": "cohere",
    "lite-llm": "litellm", "portkey-ai": "portkey", "oneapi": "one-api", "newapi": "new-api",
}  # fmt: skip
HOSTS: dict[str, str] = {
    "api.openai.com": "openai", "chatgpt.com": "openai-codex", "openai.azure.com": "azure-openai", "services.ai.azure.com": "azure-openai",
    "cognitiveservices.azure.com": "azure-openai", "api.anthropic.com": "anthropic", "generativelanguage.googleapis.com": "gemini",
    "aiplatform.googleapis.com": "vertex", "cloudcode-pa.googleapis.com": "google-antigravity", "amazonaws.com": "bedrock",
    "openrouter.ai": "openrouter", "api.x.ai": "xai", "api.groq.com": "groq", "api.mistral.ai": "mistral", "codestral.mistral.ai": "mistral",
    "api.deepseek.com": "deepseek", "api.together.xyz": "together", "api.together.ai": "together", "api.fireworks.ai": "fireworks",
    "api.cerebras.ai": "cerebras", "api.cohere.com": "cohere", "api.cohere.ai": "cohere", "api.perplexity.ai": "perplexity",
    "githubcopilot.com": "github-copilot", "models.github.ai": "github-models", "models.inference.ai.azure.com": "github-models",
    "huggingface.co": "huggingface", "endpoints.huggingface.cloud": "huggingface", "api.cloudflare.com": "cloudflare-workers-ai",
    "gateway.ai.cloudflare.com": "cloudflare-workers-ai", "integrate.api.nvidia.com": "nvidia-nim", "api.nvcf.nvidia.com": "nvidia-nim",
    "api.minimax.io": "minimax", "api.minimax.chat": "minimax", "api.minimaxi.com": "minimax", "api.moonshot.ai": "moonshot",
    "api.moonshot.cn": "moonshot", "api.kimi.com": "kimi-coding", "open.bigmodel.cn": "zhipu", "api.z.ai": "zhipu",
    "dashscope.aliyuncs.com": "qwen", "dashscope-intl.aliyuncs.com": "qwen", "portal.qwen.ai": "qwen", "volces.com": "volcengine",
    "bytepluses.com": "volcengine", "api.siliconflow.cn": "siliconflow", "api.siliconflow.com": "siliconflow", "ollama.com": "ollama-cloud",
}  # fmt: skip


def canonical(provider: object, base_url: object = "") -> str:
    """The provider's one id: by alias, else by the host of its base URL, else the id itself, lower case."""
    name = provider.strip().lower()[:80] if isinstance(provider, str) else ""
    known = ALIASES.get(name, name)
    by_host = _host(base_url) if isinstance(base_url, str) and base_url else ""
    return by_host if by_host and known not in _CANONICAL else known


def _host(base_url: str) -> str:
    try:
        host = (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        return ""
    while host:
        if host in HOSTS:
            return HOSTS[host]
        host = host.partition(".")[2]
    return ""


_CANONICAL = frozenset(ALIASES.values()) | frozenset(HOSTS.values())
