"""Law: what the original writes beside our keys is known by name, and passed over in silence (SPEC 2)."""

AGENT = frozenset(
    """
    agentDir agentRuntime blockStreamingBreak blockStreamingChunk blockStreamingCoalesce
    blockStreamingDefault bootstrapMaxChars bootstrapTotalMaxChars cliBackends compaction
    contextInjection contextLimits contextPruning contextTokens elevatedDefault embeddedHarness
    envelopeElapsed envelopeTimestamp envelopeTimezone experimental fastModeDefault groupChat humanDelay
    identity imageGenerationModel imageMaxDimensionPx maxConcurrent mediaGenerationAutoProviderFallback
    mediaMaxMb memorySearch musicGenerationModel params pdfMaxBytesMb pdfMaxPages pdfModel
    promptOverlays reasoningDefault repoRoot sandbox skills skipBootstrap startupContext
    systemPromptOverride thinkingDefault timeFormat timeoutSeconds tools tts typingIntervalSeconds
    typingMode userTimezone utilityModel verboseDefault videoGenerationModel voiceModel workspace
    """.split()
)
"""`agents.defaults`, and an agent."""

ENTRY = AGENT | {"bindings", "contacts", "default", "description", "name"}
"""An agent only."""

MODEL_OPTIONS = frozenset("agentRuntime codeMode contextTokens label params runtime streaming thinkingDefault".split())
"""`agents.defaults.models.<ref>`."""

DECLARED_MODEL = frozenset("api baseUrl compat contextTokens cost headers name params provider thinking".split())
"""`models.providers.<id>.models[]`."""

PROVIDER = frozenset("auth authHeader contextWindow injectNumCtxForOpenAICompat maxTokens name region request".split())
"""`models.providers.<id>`."""

GATEWAY = frozenset(
    """
    allowRealIpFallback auth bind channelHealthCheckMinutes controlUi customBindHost handshakeTimeoutMs http
    mode nodes port push reload remote tailscale tls tools trustedProxies webchat
    """.split()
)
"""`gateway`."""

ROOT = frozenset(
    """
    $schema accessGroups acp approvals audio bindings broadcast browser canvasHost channels cli commands cron
    diagnostics discovery env hooks identity logging mcp media memory messages meta nodeHost plugins proxy
    secrets security session skills surfaces talk tools transcripts ui update web wizard worktrees
    """.split()
)
"""The top level."""
