"""Law: the wording of an error itself, where structure said nothing; windows before money, money before keys (SPEC 6)."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Rule, any_of

_PERIODS = any_of(
    "daily | weekly | monthly | hourly | 5 hour | five hour | 24 hour | session | 7 day | premium request"
)
_TPM = any_of(
    "tpm | tokens per minute | tokens per min | token per minute | per minute | "
    "rate limit | rate limited | per day | tpd | too many requests | requests per"
)
OVERFLOW = (
    Rule(
        "prose.request_ceiling",
        R.CONTEXT_OVERFLOW,
        text=any_of(
            "request too large for ... tokens per min* | request too large for ... tpm | "
            "request too large ... tokens per min*"
        ),
        fallback=True,
        category="request_size",
    ),
    Rule(
        "prose.context",
        R.CONTEXT_OVERFLOW,
        text=any_of(
            "prompt is too long | conversation too long | context too long | context is too long | "
            "context shift is disabled | prompt too long | maximum context length | "
            "token count exceeds | tokens but the model supports | maximum context size | maximum model length | context length exceeded | exceeds the context | "
            "exceed context limit | exceeds the models context | exceeded the context | "
            "context window ... exceed* | exceed* ... context window | "
            "exceed* ... context length | exceed* ... context size | "
            "longer than the models context | longer than the context | "
            "greater than the context length | input is too long | input too long | "
            "input length ... exceed* | input token count ... exceeds | "
            "input tokens ... exceed* | maximum prompt length | prompt token count ... exceed* | "
            "prompt contains ... too large | too many tokens | "
            "reduce the length of the messages | reduce the length of your | "
            "ran out of room in the models context | context length of only | "
            "context the overflows | context overflows | larger than the maximum context | "
            "available context size | max new tokens must be | "
            "input validation error ... tokens must be | "
            "input validation error ... max new tokens | tokens ... max new tokens must be | "
            "must have less than ... tokens | must be less than ... tokens | "
            "exceeds maximum input token | range of input length should be | "
            "exceeded model token limit | model token limit | exceeded max tokens | "
            "token limit exceeded | context size has been exceeded | "
            "exceeds the maximum number of tokens | exceeds the maximum allowed tokens | "
            "maximum number of input tokens | maximum input length | max input tokens | "
            "maximum number of tokens | too large for model | request too large | "
            "prompt exceeds max length | prompt exceeds max | the prompt is longer | "
            "truncating input | context limit | total tokens ... exceed* | total message size | "
            "tokens in the prompt | exceeds max context | context overflow | "
            "context window full | prompt length ... exceeds | conversation is too long | "
            "request entity too large | payload too large | contextwindowexceedederror | "
            "too long for this model | exceeds the limit of ... tokens | max total tokens | "
            "kv cache | input is longer than | exceeds the available context | "
            "length of the prompt | request exceeds the maximum size | input is too large | "
            "above the models context | 上下文过长 | 上下文长度 | 超出最大长度 | 超过最大长度 | "
            "输入过长 | 输入长度 | 超过模型最大 | token超 | 超出上下文 | プロンプトが長すぎ | "
            "コンテキスト | el contexto es demasiado | kontextfenster | prompt est trop long"
        ),
        unless=(
            *_TPM,
            *any_of(
                "max tokens must be less than | max completion tokens must be less than | context window too small | prompt template | each image | at least one of the image"
            ),
        ),
    ),
    Rule(
        "prose.session",
        R.SESSION_EXPIRED,
        text=any_of(
            "no conversation found | conversation ... not found | session ... not found | "
            "session ... does not exist | session ... expired | no such session | "
            "invalid session | session id not found | conversation ... does not exist | "
            "conversation ... expired | thread ... not found | previous response ... not found | "
            "response with id ... not found | previous response with id | "
            "item with id ... not found | "
            "input item id does not belong to this connection | session is invalid | "
            "会话不存在 | 会话已过期 | 会话过期"
        ),
        unless=any_of("token ... expired | sign in | log in | login | oauth | credential* | auth*"),
    ),
    Rule("prose.previous_response", R.FORMAT, text=("previous response id",)),
)

WINDOWS = (
    Rule("prose.not_usage_limit", R.RATE_LIMIT, text=any_of("not your usage limit | not related to your usage limit")),
    Rule(
        "prose.window",
        R.RATE_LIMIT,
        text=any_of(
            "limit* ... resets tomorrow | reached resets | cap reached ... reset* | usage limit* ... try again | usage limit* ... reset* | "
            "hit your ... limit ... reset* | limit reached ... resets | "
            "reached your ... limit ... reset* | usage limit reached | "
            "youve hit your usage limit | youve hit your limit | hit your usage limit | "
            "reached your usage limit | reached your specified api usage limits | "
            "reached your api usage limits | subscription quota limit | "
            "usage limit has been reached | reached the usage limit | usage limit exhausted | "
            "usage limit exceeded | exceeded ... usage limit | quota will reset | "
            "quota will be reset | will regain access | usage quota ... reset* | "
            "quota exhausted ... reset* | exhausted your capacity ... reset* | "
            "exhausted your ... quota ... reset* | 使用上限 | 用量上限 | 小时的使用 | 每周使用 | "
            "限额将在 | 额度将在 | 已达到 ... 上限"
        ),
        scope=S.PROFILE,
        long=True,
        unless=any_of("not your usage limit | rpm | per minute"),
    ),
    Rule(
        "prose.daily",
        R.RATE_LIMIT,
        text=any_of(
            "requests per day | tokens per day | rpd | tpd | per day | per model per day | "
            "free models per day | for today | neurons | 今日 | 当日 | 每日 | 本周 | "
            "本月 | 每月 | 每周"
        ),
        also=any_of(
            "limit | limits | limited | quota | exceeded | exhausted | used up | resets | 上限 | "
            "限额 | 额度 | 次数 | 限制"
        ),
        long=True,
        unless=any_of("credits | per minute limit"),
    ),
    Rule(
        "prose.spend_window",
        R.RATE_LIMIT,
        text=any_of(
            "organization ... spending limit | organization ... spend limit | "
            "workspace ... spending limit | workspace ... spend limit | "
            "organization ... usage limit | workspace ... usage limit | monthly spending limit | "
            "monthly spend limit | monthly spend cap | spending limit ... try again | "
            "spend limit ... try again | organization usage ... exceeded | billing period"
        ),
        status=(402,),
        scope=S.PROFILE,
        long=True,
    ),
    Rule(
        "prose.period",
        R.RATE_LIMIT,
        text=tuple(
            f"{period} ... {what}" for period in _PERIODS for what in any_of("limit | limits | quota | allowance | cap")
        ),
        also=any_of(
            "reached | exceeded | exhausted | exceed | hit | reset* | over | used up | maxed | "
            "crossed | try again | youve | too many | upgrade"
        ),
        scope=S.PROFILE,
        long=True,
        unless=any_of("credits | per minute | per min | session id | billing"),
    ),
)

MONEY = (
    Rule(
        "prose.billing",
        R.BILLING,
        text=any_of(
            "insufficient credit* | any credits | good standing | insufficient balance | insufficient account balance | "
            "insufficient ... balance | insufficient funds | insufficient quota | "
            "credit balance | credits balance | payment required | payment instrument | "
            "payment method | used all available credits | used all of your | "
            "run out of credits | out of credits | ran out of credits | dont have any credits | "
            "no credits | not enough credits | not enough balance | enough credits | "
            "enough balance | more credits | requires credits | add credits | purchase credits | "
            "buy credits | included credits | credit limit | credits exhausted | "
            "credits have been exhausted | credits ... depleted | prepayment credits | "
            "prepaid credits | top up | plans billing | plan and billing details | "
            "billing hard limit | billing details | billing limit | billing not active | "
            "billing is not | billing account | billing to be enabled | enable billing | "
            "requires billing | available balance | account balance | balance is insufficient | "
            "balance is not enough | balance too low | balance is too low | low balance | "
            "negative balance | out of budget | budget has been exceeded | exceeded budget | "
            "exceeded your budget | budget limit | budget exceeded | over budget | spend limit | "
            "spending limit | spend cap | unpaid invoice* | past due | overdue | in arrears | "
            "arrears | arrearage | extra usage | "
            "account is not active please check your billing | free trial ... expired | "
            "trial ... ended | trial has expired | subscription has expired | "
            "subscription expired | no active subscription | subscription is inactive | "
            "subscription required | requires a subscription | requires an active subscription | "
            "need a ... subscription | recharge | free quota ... exhausted | "
            "free tier of the model has been exhausted | free allocated quota exceeded | "
            "free usage limit | freeusagelimiterror | gousagelimiterror | invalidsubscription | "
            "upgrade to a paid | user quota is not enough | "
            "token quota is not enough | paid plan | 余额不足 | 余额已用 | 余额 | 欠费 | 充值 | "
            "额度不足 | 账户异常 余额 | 资源包 | 额度已用尽 | 额度已用完 | 套餐已到期 | "
            "已过期 ... 套餐 | saldo insuficiente | créditos insuficientes | solde insuffisant | "
            "crédits insuffisants | guthaben | nicht genügend guthaben | недостаточно средств | "
            "残高 | クレジット | 잔액 | 크레딧"
        ),
        unless=any_of("by cloudflare | rate limit reached | rpm | credit card number"),
    ),
)

SPEND_WINDOWS = (
    Rule(
        "prose.passes",
        R.RATE_LIMIT,
        status=(402,),
        text=any_of("try again | retry after | resets | please retry | temporar* | cooldown"),
        scope=S.PROFILE,
        long=True,
    ),
)
KEYS = (
    Rule(
        "prose.auth_permanent",
        R.AUTH_PERMANENT,
        text=any_of(
            "token revoked | token was revoked | account banned | account closed | account locked | account is locked | "
            "account has been locked | access was terminated | access has been terminated | has been denied access | key has been revoked | key revoked | key deactivated | key disabled | key deleted | currently blocked | "
            "workspace disabled | workspace deactivated | account disabled | account deactivated | account terminated | "
            "organization disabled | organization has disabled | has been archived | "
            "deleted or deactivated | key has been disabled | key has been deactivated | "
            "key has been deleted | key was revoked | key was disabled | key is disabled | "
            "api key ... revoked | api key ... deactivated | api key ... disabled | "
            "api key ... deleted | key is blocked | key is revoked | reported as leaked | "
            "account has been deactivated | account is deactivated | account has been disabled | "
            "account has been suspended | account is suspended | account suspended | "
            "account has been banned | account has been deleted | account has been terminated | "
            "account has been blocked | account is disabled | account is blocked | "
            "account deactivated | deactivated workspace | workspace ... deactivated | "
            "organization has been disabled | organization has been deactivated | "
            "organization is disabled | has been disabled in this account | "
            "project has been suspended | consumer ... has been suspended | "
            "violation of terms of service | violation of ... terms | "
            "not allowed for this organization | refresh token reused | "
            "refresh token ... already been used | refresh token ... already used | "
            "refresh token expired | refresh token ... revoked | refresh token ... expired | "
            "refresh token ... invalid | invalid refresh token | invalid grant | "
            "token invalidated | only authorized for use with claude code | "
            "has been permanently | sign in again | 用户已被封禁 | 已被封禁 | 已被禁用 | "
            "账号已被 | 账户已被 | 密钥已被"
        ),
        unless=any_of("wait a minute | rate limited | rate limit"),
    ),
    Rule(
        "prose.egress",
        R.AUTH,
        text=any_of(
            "access blocked by cloudflare | country region or territory not supported | "
            "unsupported country region territory | user location is not supported | "
            "not available in your country | not available in your region | "
            "country ... not supported | region ... not supported | blocked by cloudflare | "
            "you have been blocked | sorry you have been blocked | just a moment | "
            "enable javascript and cookies | attention required | restricted region | "
            "error code 1006 | error code 1007 | error code 1008 | error code 1009 | error code 1010 | error code 1020 | "
            "check your network settings | location is not supported | firewall rules | public access is disabled | "
            "private endpoint | virtual network | ip ... not allowed | "
            "ip address ... not authorized | ip ... whitelist | ip address is not | "
            "not available in your location | 地区不支持"
        ),
        scope=S.PROVIDER,
        rotate=False,
        unless=("model",),
    ),
    Rule(
        "prose.auth",
        R.AUTH,
        text=any_of(
            "invalid api key | missing required authorization | missing authorization | authorization header | "
            "incorrect api key | api key not valid | invalid x api key | "
            "invalid api token | invalid token | invalid authentication | invalid credentials | "
            "invalid bearer | api key is invalid | api key is not valid | "
            "api key ... is invalid | api key expired | api key has expired | "
            "api key ... expired | token expired | token has expired | token is expired | "
            "access token ... expired | security token ... expired | "
            "security token ... invalid | expired key | key expired | missing api key | "
            "no api key | api key is missing | api key is required | api key required | "
            "did not provide an api key | didnt provide an api key | provide a valid api key | "
            "wrong api key | bad api key | unknown api key | api key not found | "
            "api key does not exist | missing authentication | missing bearer | "
            "no auth credentials | no credentials found | unable to locate credentials | "
            "could not authenticate | could not load credentials | "
            "could not validate credentials | authentication fails | authentication failed | "
            "authentication error | authentication required | authorization required | "
            "failed to authenticate | not authenticated | unauthenticated | unauthorized | "
            "unauthorised | forbidden | access denied | permission denied | permission error | "
            "insufficient permission* | missing scope* | missing scopes | lacks permission | "
            "not have permission | does not have permission | reauthenticate | re authenticate | "
            "oauth token refresh failed | oauth token has expired | oauth access token | "
            "not logged in | please run login | session expired and could not be refreshed | "
            "please log in | please login | login required | cookie auth | user not found | "
            "invalid username or password | bad credentials | signature expired | "
            "signature we calculated | signature does not match | invalid signature | "
            "code assist license | is not authorized to perform | api key format is incorrect | "
            "api key doesnt exist | apikey | verify your account | invalid access token | "
            "access token is invalid | failed to ... token | invalid jwt | 无权访问 | 认证失败 | "
            "鉴权失败 | 密钥无效 | 令牌 | 身份验证 | 未授权 | 无效的令牌 | 无效的api | "
            "api key错误 | api密钥 | clé api | clave de api | chave de api | api schlüssel | "
            "неверный ключ | 認証 | 인증"
        ),
        status=(0, 1, 2, 400, 401, 403, 404, 405, 407, 409, 410, 412, 415, 422, 498, 5),
        unless=any_of(
            "field required | tool use | tool call | max tokens | parse | tokens per | unexpected token | deserialize"
        ),
    ),
)
