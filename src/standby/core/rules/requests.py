"""Law: what the wording says of the request itself: its shape, its content, the model that it names (SPEC 6)."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Rule, any_of

MALFORMED = (
    Rule(
        "prose.tool_call_ids",
        R.FORMAT,
        text=any_of(
            "tool use id ... should match pattern | tool use id string should match | "
            "string should match pattern ... a za z0 9 | tool call id was ... must be | "
            "tool call id ... must be | tool call id must | invalid tool call id | "
            "tool use id ... pattern | toolcallid ... must | expected pattern a za z0 9"
        ),
        retry=True,
        fallback=True,
        category="tool_call_ids",
    ),
    Rule("prose.transcript", R.FORMAT, text=("invalid session transcript entry",), scope=S.NONE, category="transcript"),
    Rule(
        "prose.signature",
        R.FORMAT,
        text=any_of(
            "invalid signature in | thinking ... signature | thought signature | "
            "signature in thinking | reasoning ... encrypted content could not be | "
            "encrypted content ... could not be verified | "
            "thinking blocks ... cannot be modified | thinking block*"
        ),
        unless=any_of("not supported | does not support | max tokens | budget tokens"),
        category="signature",
    ),
    Rule(
        "prose.roles",
        R.FORMAT,
        text=any_of(
            "roles must alternate | incorrect role information | must alternate | "
            "tool result blocks immediately after | "
            "must be a response to a preceding message with | "
            "tool call ids did not have response | must be followed by tool messages | "
            "did not have response messages | unexpected ... found in tool result blocks | "
            "tool use ids were found without | number of function response parts | "
            "function call turn comes immediately after | no tool output found | "
            "no tool call found | last message must | first message must | "
            "must end with a user | final position must be | non empty content | "
            "text content blocks must | without its required following item | "
            "was provided without its required | toolresult blocks ... exceeds | "
            "cannot both be empty | conversation roles | unexpected role | expected last role | "
            "successive user or assistant | tool messages must | each tool use block must | duplicate tool | "
            "function response ... parts | conversation must start with a user | "
            "must start with a user message | contents are required | messages array is empty"
        ),
        unless=("prefill",),
    ),
    Rule(
        "prose.prefill", R.FORMAT, text=any_of("assistant message prefill | prefill"), fallback=True, category="prefill"
    ),
    Rule(
        "code.thinking",
        R.FORMAT,
        code=("param_thinking",),
        text=any_of(
            "unsupported | not supported | not support* | supported values | mandatory | required | invalid | "
            "must be | should be | unrecognized | unknown | unexpected | not permitted | not allowed | out of range"
        ),
        unless=any_of("signature | thinking block* | reasoning content | must start with a thinking"),
        retry=True,
        fallback=True,
        category="thinking",
    ),
    Rule(
        "prose.reasoning_level",
        R.FORMAT,
        text=any_of(
            "reasoning effort ... support* | reasoning effort is not supported | "
            "unsupported parameter reasoning | unsupported parameter thinking | "
            "unsupported parameter enable thinking | enable thinking ... must be | "
            "enable thinking ... not supported | thinking level ... support* | "
            "reasoning ... mandatory | reasoning is required | requires reasoning | "
            "reasoning ... cannot be disabled | unsupported value ... reasoning | "
            "thinking budget ... invalid | thinking budget ... out of range | "
            "budget ... only works in thinking mode | thinking mode ... required | "
            "reasoning effort ... unsupported | unsupported reasoning | "
            "invalid reasoning effort | think value | does not support thinking | "
            "does not support reasoning | does not support reasoning effort | "
            "thinking type ... not supported | not support reasoning effort | "
            "reasoning ... is not supported | thinking is not supported | "
            "reasoning effort ... not supported | thinking budget ... not supported | "
            "reasoning effort ... invalid | unsupported value ... supported values are"
        ),
        retry=True,
        fallback=True,
        category="thinking",
    ),
)

REFUSALS = (
    Rule(
        "prose.misalignment",
        R.REFUSAL,
        text=any_of("misalignment policy violation | potentially unintended activity"),
        category="misalignment",
    ),
    Rule(
        "prose.cyber",
        R.REFUSAL,
        text=any_of(
            "cyber policy | cybersecurity risk | flagged ... cyber | cyber harm | cyber abuse | "
            "trusted access for cyber"
        ),
        category="cyber",
    ),
    Rule(
        "prose.policy",
        R.REFUSAL,
        text=any_of(
            "content policy | content filtering policy | content management policy | "
            "usage policies | usage policy | violating our usage | safety system* | "
            "flagged for | flagged as | blocked by content | blocked ... safety | "
            "content filter | content moderation | rejected by moderation | blocked by moderation | moderation policy | inappropriate content | prohibited content | "
            "prohibited use policy | responsible ai | requires moderation | "
            "violates ... policy | violate ... policy | contains sensitive | contentpolicyviolationerror | was filtered | stop reason refusal | "
            "stop reason sensitive | stop reason content filter | finish reason content filter | finish reason safety | "
            "stop reason safety | finish reason refusal | sensitive information | new sensitive | "
            "input sensitive | output sensitive | data inspection failed | sensitive words | "
            "content exists risk | content security | unsafe content | guardrail* | "
            "safety filters | safety reasons | "
            "request was rejected because it was considered high risk | considered high risk | "
            "sensitive content | acceptable use policy | blocked by our | was blocked due to | "
            "prompt was blocked | response was blocked | 敏感 | 不安全 | 内容安全 | 违规内容 | "
            "违反相关 | 内容审核 | risk control"
        ),
        unless=any_of(
            "rate limit | api key | appeal | account has been | account was | fair use | "
            "disabled | suspended | banned | image dimensions | by cloudflare"
        ),
        category="policy",
    ),
)

MODELS = (
    Rule(
        "prose.image_input",
        R.FORMAT,
        text=any_of(
            "support image input | not support image* | unsupported image input | "
            "image input is not supported | does not support vision | not a multimodal model | "
            "images are not supported | image input not supported | "
            "image url is only supported | does not support images"
        ),
        fallback=True,
        category="capability",
    ),
    Rule(
        "prose.model_plan",
        R.BILLING,
        text=any_of(
            "not available ... current plan | subscription plan does not include | "
            "does not have a valid coding plan | not included in your plan | "
            "plan does not include | not include access to | upgrade your plan to access | "
            "current subscription plan does not yet include"
        ),
        also=any_of("plan | subscription"),
    ),
    Rule(
        "prose.model_ambiguous",
        R.MODEL_NOT_FOUND,
        text=any_of(
            "does not exist or you do not have access | not found ... and that you have access | "
            "does not exist or you dont have access | not exist or you lack access"
        ),
    ),
    Rule(
        "prose.model_access",
        R.MODEL_NOT_FOUND,
        text=any_of(
            "does not exist or your ... not have access | you do not have access to the model | "
            "you dont have access to the model | not have access to model | "
            "not have access to the model | do not have access to the specified model | "
            "dont have access to the model | not allowed to access model | no access to model | "
            "does not have access to model | not authorized to access model | "
            "model ... is not available for your account | "
            "not supported when using codex with a chatgpt account | "
            "not supported when using ... with a chatgpt account | "
            "your organization must be verified to use the model | "
            "access to this model is not enabled | model access is not | "
            "not enabled for this account | is gated | gated repo | must be verified to | "
            "no permission to access the model | not have permission to use the model | "
            "key not allowed to access | model ... not activated | not activated the model | "
            "you are not authorized to use this model | no access to this model | "
            "does not have access to this model | not have access to this model | "
            "model is not accessible | can only access models | model terms | "
            "access to model ... restricted | in the authorized list"
        ),
        rotate=True,
    ),
    Rule(
        "prose.model_missing",
        R.MODEL_NOT_FOUND,
        text=any_of(
            "provider ... not supported for model | not accessible via | model ... does not exist | model ... not found | models ... is not found | "
            "model ... not exist | no such model | unknown model | invalid model name | "
            "is not a valid model id | not a valid model | invalid model id | invalid model | "
            "model identifier is invalid | no endpoints found for | no endpoints available | "
            "model ... not supported by any provider | not supported model | router not found | "
            "model ... has been deprecated | model ... deprecated | model ... decommissioned | "
            "model ... deactivated | model ... retired | model ... discontinued | "
            "model ... end of life | model ... no longer available | "
            "model ... no longer supported | model ... no longer exists | model ... sunset | "
            "unable to access model | try pulling it first | unrecognized model | "
            "the requested model ... not supported | requested model is not | "
            "model ... is not available | model ... is not supported | model ... not available | "
            "unsupported model | deployment ... does not exist | no models loaded | "
            "no model loaded | model not loaded | could not find model | cannot find model | "
            "model ... unavailable in | no route for that uri | "
            "function ... not found for account | model ... not deployed | "
            "no available channel for model | no healthy deployments | "
            "model ... cannot be found | model ... could not be found | no allowed providers | "
            "model ... is unavailable | failed to load model | "
            "this model version ... end of its life | legacy ... model | "
            "on demand throughput isnt supported | access denied this model is marked | "
            "reached the end of its life | 模型不存在 | 模型 ... 不存在 | 无可用渠道 | "
            "不支持的模型 | 未找到模型 | 模型未找到 | 模型已下线 | 模型不可用 | 模型代码"
        ),
        unless=any_of(
            "model reference | temporarily | at capacity | overloaded | try again | "
            "tool choice | parameter | image | stream | not supported by this model | "
            "response format | session | conversation | response with id | file | rate limit | "
            "context length | not ready | high demand"
        ),
    ),
)

CAPABILITY = (
    Rule(
        "prose.capability",
        R.FORMAT,
        text=any_of(
            "modality is not enabled | is not enabled for models | not supported with this model | argument not supported | not supported by this model | "
            "not supported for this model | does not support tools | does not support tool | "
            "not support tools | not support tool | not support function | support tool use | "
            "support tool choice | support tool calling | support function calling | "
            "deprecated for this model | unsupported parameter | unsupported value | "
            "not supported in the v1 | only the default 1 value is supported | "
            "model does not support | model doesnt support | models does not support | "
            "does not support the | does not support this | is not supported with | "
            "isnt supported | not compatible with | tool choice requires | does not support | "
            "this model only supports | requires enable auto tool choice | only supported in | "
            "not supported by the model | is not supported on this model | "
            "cannot be used with this model | not enabled for this model | "
            "response format ... not supported | max tokens ... too large | "
            "maximum allowed number of output tokens | "
            "supports at most ... completion tokens | max completion tokens ... at most | "
            "cannot both be specified | invalid max tokens value | valid range of max tokens | "
            "not available for this model | not available with this model | not available on this model | "
            "max tokens must be less than | max completion tokens must be less than | "
            "maximum tokens you requested exceeds | enabled only for api versions | function calling is not enabled | json mode is not | streaming is not supported | "
            "stream must be | parameter ... not supported by this model | 不支持"
        ),
        status=(0, 2, 400, 404, 405, 422, 5, 501),
        unless=any_of("http method | content type | mime | media type"),
        fallback=True,
        category="capability",
    ),
)
