"""Law: where neither name nor wording decided, transient names, then the status, then transient words do (SPEC 6)."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Rule, any_of

_RATE_CODES = any_of(
    "rate_limit_exceeded | rate_limit_error | rate_limit | rate_limited | "
    "resource_exhausted | too_many_requests | throttled | throttling | "
    "throttlingexception | throttling_exception | ratelimiterror | ratelimit | "
    "model_rate_limit | rate_limit_reached | toomanyrequests | limit_exceeded | "
    "requests_limit_reached | ratelimitexceeded | requestlimitexceeded | "
    "quota_exceeded | servicequotaexceededexception | limitexceededexception | "
    "usage_limit_reached | usage_limit_exceeded | toomanyrequestsexception | "
    "concurrency_limit_exceeded | user_rate_limited | requestthrottled | "
    "ratelimitreached | 429 | rate_limit_exceeded_error | tokens | requests | "
    "throttlederror | throttlingerror"
)
_CONCURRENT = any_of(
    "too many concurrent | concurrent request | concurrency limit | concurrent connections | "
    "concurrent requests | max concurrency | maximum concurrency | "
    "organization concurrency | user concurrency | global rate limit | "
    "account rate limit | exceeded your rate limits | concurrency ... reached | 并发"
)
_OVERLOAD = any_of(
    "overloaded | no instances available | no available accounts | over capacity | capacity temporarily exceeded | overload | at capacity | out of capacity | "
    "no capacity | capacity exceeded | high demand | high load | heavy load | too busy | "
    "is currently unavailable | server is busy | service is busy | workers are busy | worker ... limit reached | server busy | currently busy | model is busy | "
    "engine is currently | not ready to serve | modelnotreadyexception | "
    "insufficient capacity | temporarily overloaded | heavy traffic | peak traffic | "
    "high traffic | resource is being | is currently loading | is loading | "
    "loading model | warming up | pending requests exceeded | queue is full | "
    "max pending | queue full | 过载 | 繁忙 | 拥挤 | 访问量过大 | 负载 | 混雑 | "
    "sobrecargado | surchargé | überlastet | перегружен"
)
_THROTTLE = any_of(
    "rate limit | rate limits | rate limited | ratelimit | rate limiting | "
    "too many requests | throttl* | throttlingexception | resource exhausted | "
    "resource has been exhausted | quota exceeded | exceeded ... quota | exceeds quota | "
    "usage limit | limit exceeded | request limit | requests limit | "
    "token limit ... minute | tpm | rpm | tokens per minute | requests per minute | "
    "per minute | model cooldown | cooling down | slow down | frequency limit | "
    "qps limit | qps | quota limit exceeded | reached the limit | reached your limit | "
    "limit reached | exceeded your current quota | 请求过于频繁 | 频率 | 限流 | 过多 | "
    "速率 | 配额 | 超出限制 | 请求数限制 | 請求過於頻繁 | demasiadas solicitudes | "
    "límite de | trop de requêtes | limite de | zu viele anfragen | "
    "muitas solicitações | слишком много запросов | превышен лимит | "
    "リクエストが多すぎ | レート制限 | 요청이 너무 | too many tokens"
)

TRANSIENT = (
    Rule("status.529", R.OVERLOADED, status=(529,), scope=S.PROVIDER),
    Rule("code.slow_down", R.OVERLOADED, code=("slow_down",), scope=S.PROVIDER),
    Rule("code.overloaded", R.OVERLOADED, code=any_of("overloaded_error | overloaded | overloaded_error_type")),
    Rule("words.concurrency", R.RATE_LIMIT, text=_CONCURRENT, scope=S.PROFILE, status=(0, 1, 2, 4, 503)),
    Rule("code.rate_limit", R.RATE_LIMIT, code=_RATE_CODES),
    Rule("code.exhausted_503", R.OVERLOADED, code=("unavailable",), status=(0, 2, 503, 529)),
    Rule(
        "code.deadline",
        R.TIMEOUT,
        code=any_of(
            "deadline_exceeded | timeout | timeout_error | request_timeout | requesttimeout | "
            "modeltimeoutexception | timeouterror | gateway_timeout | requesttimeouterror"
        ),
    ),
    Rule(
        "words.certificate",
        R.TLS_CERTIFICATE,
        text=any_of(
            "signed by unknown authority | x509 | certificate verify failed | self signed certificate | certificate has expired | "
            "unable to verify the first certificate | unable to get local issuer certificate | "
            "certificate is not valid | hostname mismatch | certificate is not yet valid | "
            "does not match certificates altnames | certificate unknown | pkix path building failed | "
            "valid certification path | failed to verify certificate | invalid peer certificate | "
            "remote certificate is invalid | remote certificate was rejected | certificate is not trusted | "
            "authority that is not trusted | untrusted root | cert authority invalid | cert date invalid | "
            "cert common name invalid | certificate revoked"
        ),
        status=(0, 2, 502, 525, 526),
    ),
    Rule(
        "words.unreached",
        R.TIMEOUT,
        text=any_of(
            "connection refused | connect etimedout | connect econnreset | newconnectionerror | "
            "failed to establish | connecttimeouterror | cannot connect to proxy | "
            "tunnel connection failed | proxyerror | econnrefused | enotfound | getaddrinfo* | "
            "name or service not known | nodename nor servname | name resolution | "
            "could not resolve host | no route to host | network is unreachable | ehostunreach | "
            "enetunreach | eai again | all connection attempts failed | cannot connect to host | "
            "connect timeout | connecttimeout | connect timed out | connection timed out | "
            "connecterror | und err connect timeout | dns | failed to connect | "
            "before secure tls connection | no such host | dial tcp | unknown host | unknownhostexception | name not resolved | failed to resolve | "
            "couldnt resolve host | couldnt connect to server | failed to lookup address | no address associated | "
            "host is unreachable | host unreachable | noroutetohostexception | connectexception | tcp connect error | "
            "actively refused | err connection refused | err internet disconnected | network is down | "
            "could not connect | connection attempt failed | wrong version number | handshake failure | "
            "handshake failed | tls handshake | ssl handshake"
        ),
        status=(0,),
        scope=S.PROVIDER,
        rotate=False,
    ),
)

STATUS = (
    Rule(
        "status.html_403",
        R.AUTH,
        status=(403,),
        body=("html",),
        header=(("cf-mitigated", ""), ("server", "cloudflare")),
        scope=S.PROVIDER,
        rotate=False,
    ),
    Rule("status.402", R.BILLING, status=(402,)),
    Rule("status.401", R.AUTH, status=(401, 407)),
    Rule(
        "status.403_window",
        R.RATE_LIMIT,
        status=(403,),
        text=any_of(
            "rpm limit | tpm limit | rpm | tpm | rate limit | rate limited | too many requests | quota exceeded | quota limit | exceeded ... quota"
        ),
    ),
    Rule("status.403", R.AUTH, status=(403,)),
    Rule("status.429_busy", R.OVERLOADED, status=(429,), text=_OVERLOAD, unless=any_of("rate limit | rate limits")),
    Rule("status.429", R.RATE_LIMIT, status=(429,)),
    Rule("status.timeout", R.TIMEOUT, status=(408, 499, 504, 522, 524, 598, 599)),
    Rule("status.404_format", R.FORMAT, status=(404,), code=("invalid_request_body",)),
    Rule(
        "status.404_request",
        R.FORMAT,
        status=(404,),
        text=any_of("invalid url | unknown request url | unrecognized request url | malformed request"),
    ),
    Rule("status.404", R.MODEL_NOT_FOUND, status=(404,)),
    Rule(
        "status.410",
        R.MODEL_NOT_FOUND,
        status=(410,),
        text=any_of("model* | end of life | no longer available | deprecated | gone"),
    ),
    Rule("status.413", R.CONTEXT_OVERFLOW, status=(413,)),
    Rule("status.5xx_busy", R.OVERLOADED, status=(5,), text=_OVERLOAD),
    Rule(
        "status.5xx_throttled",
        R.RATE_LIMIT,
        status=(5,),
        text=any_of(
            "rate limit exceeded | rate limit reached | too many requests | rate limited | "
            "ratelimiterror | throttlingexception"
        ),
    ),
    Rule("fallback.5xx", R.SERVER_ERROR, status=(5,)),
)

WORDS = (
    Rule(
        "code.unauthorized",
        R.AUTH,
        code=any_of(
            "permission_denied | unauthenticated | permission_error | authentication_error | forbidden | "
            "unauthorized | authenticationerror | permissiondeniederror | auth_error | access_denied | "
            "accessdeniedexception | unauthorizederror | invalid_authentication_error"
        ),
        status=(0, 2, 4),
    ),
    Rule(
        "code.not_found",
        R.MODEL_NOT_FOUND,
        code=any_of("not_found_error | notfounderror | not_found"),
        status=(0, 2, 400),
    ),
    Rule("words.rate_limit", R.RATE_LIMIT, text=_THROTTLE, unless=any_of("is too long | not a valid")),
    Rule(
        "words.overloaded",
        R.OVERLOADED,
        text=(*_OVERLOAD, *any_of("service unavailable | temporarily unavailable | 暂时不可用 | 服务不可用")),
        status=(0, 1, 2, 4),
    ),
    Rule("words.stop_error", R.SERVER_ERROR, text=any_of("stop reason error | ^reason error$ | finish reason error")),
    Rule(
        "code.server",
        R.SERVER_ERROR,
        code=any_of(
            "server_error | upstream_error | internalserverexception | modelerrorexception | "
            "modelstreamerrorexception | internal_error | internal | internal_server_error | "
            "internalservererror | internalfailure | serviceunavailable | service_unavailable | "
            "serviceunavailableexception | bad_gateway | engine_error | api_error_server | "
            "internalerror | serviceunavailableerror"
        ),
    ),
    Rule(
        "words.server",
        R.SERVER_ERROR,
        text=any_of(
            "enginecore | engine crashed | cuda error | cuda out of memory | out of memory | "
            "runner process has terminated | runner process no longer running | "
            "process has terminated | engine loop | background loop has errored | enginedeaderror"
        ),
    ),
    Rule(
        "words.api_error",
        R.TIMEOUT,
        code=any_of("api_error | apierror"),
        text=any_of(
            "internal server error | overload* | unknown error | bad gateway | upstream error | "
            "backend error | try again | unexpected error | internal error | server error | "
            "service unavailable"
        ),
    ),
    Rule(
        "words.timeout",
        R.TIMEOUT,
        text=any_of(
            "eof$ | error terminated$ | typeerror terminated$ | abnormal closure | upstream connect error | reset before headers | goaway | econnaborted | esockettimedout | closed the connection | err connection | stop reason network error | stop reason abort | stop reason malformed response | timeout | timed out | time out | deadline exceeded | connection error | "
            "network error | connection reset | connection aborted | connection closed | "
            "connection lost | connection broken | connection was closed | "
            "peer closed connection | fetch failed | socket hang up | stream disconnected | "
            "premature close | stream ended | stream closed | stream aborted | "
            "stream interrupted | stream error | closed before | incomplete chunked read | "
            "incomplete read | server disconnected | remoteprotocolerror | readerror | "
            "broken pipe | econnreset | epipe | etimedout | without sending any chunks | "
            "without sending chunks | operation was aborted | stream read error | und err | "
            "request failed | unexpected eof | eof occurred | without response | "
            "without a response | ended without | error sending request | "
            "request ended without | reason abort | reason malformed response | "
            "reason network error | malformed response | invalid http response | "
            "no response from | 超时 | 连接 | タイムアウト | tiempo de espera | délai d | "
            "zeitüberschreitung | 시간 초과"
        ),
        status=(0, 1, 2, 4),
    ),
    Rule(
        "words.server_error",
        R.TIMEOUT,
        text=any_of(
            "internal server error | internal error | server error | bad gateway | "
            "gateway error | upstream error | backend error | unexpected error | service error | "
            "内部错误 | 服务器错误 | 服务异常 | 系统错误 | 系统异常 | 网络错误 | "
            "erreur interne | error interno | interner fehler | внутренняя ошибка | 内部エラー | "
            "서버 오류"
        ),
        status=(0, 2, 4),
    ),
    Rule(
        "fallback.named_request",
        R.FORMAT,
        status=(400, 422),
        code=any_of(
            "invalid_request_error | badrequesterror | invalid_argument | validationexception | validation_error"
        ),
    ),
    Rule("words.provider_error", R.TIMEOUT, code=("provider_openrouter",), text=("provider returned error$",)),
    Rule("fallback.nothing", R.UNCLASSIFIED, status=(400, 422), body=any_of("none | empty")),
    Rule("fallback.request", R.FORMAT, status=(400, 422)),
    Rule(
        "fallback.invalid_request",
        R.FORMAT,
        code=any_of(
            "invalid_request_error | badrequesterror | bad_request | invalid_argument | "
            "validationexception | invalid_request | unknown_parameter | invalid_parameter | "
            "validation_error | fault_format | invalidparameter | unprocessable_entity | format"
        ),
    ),
    Rule(
        "words.format",
        R.FORMAT,
        text=any_of(
            "invalid request | bad request | badrequesterror | validation error | "
            "invalid parameter | failed to deserialize | invalid value for | "
            "missing required parameter | 参数错误 | 参数"
        ),
        status=(0, 2, 4),
    ),
    Rule("status.410_gone", R.TIMEOUT, status=(410,)),
    Rule("fallback.405", R.MODEL_NOT_FOUND, status=(405,)),
    Rule("fallback.request_shape", R.FORMAT, status=(411, 414, 415, 431)),
    Rule("fallback.empty", R.EMPTY_RESPONSE, body=any_of("none | empty"), status=(0, 2)),
)
LAST = Rule("fallback.unmatched", R.UNCLASSIFIED)
"""Nothing matched: the preview is kept, other candidates may be tried."""
