"""Law: the Chinese vendors' numbers and names, each for itself: the same word means another thing next door."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

ZHIPU = Family(
    frozenset({"zhipu"}),
    (
        Rule("zhipu.window", R.RATE_LIMIT, code=any_of("1308 | 1310 | 1316 | 1317 | 1318"), scope=S.PROFILE, long=True),
        Rule("zhipu.daily", R.RATE_LIMIT, code=("1304",), long=True),
        Rule("zhipu.concurrency", R.RATE_LIMIT, code=any_of("1302 | 1313"), scope=S.PROFILE),
        Rule("zhipu.frequency", R.RATE_LIMIT, code=any_of("1303 | 1314 | 1315")),
        Rule("zhipu.busy", R.OVERLOADED, code=any_of("1305 | 1312")),
        Rule("zhipu.balance", R.BILLING, code=any_of("1113 | 1309 | 1121_arrears")),
        Rule("zhipu.plan", R.MODEL_NOT_FOUND, code=("1311",), rotate=True),
        Rule("zhipu.locked", R.AUTH_PERMANENT, code=any_of("1112 | 1121")),
        Rule("zhipu.auth", R.AUTH, code=any_of("1000 | 1001 | 1002 | 1003 | 1004 | 1005 | 1100 | 1110 | 1111 | 1220")),
        Rule("zhipu.model", R.MODEL_NOT_FOUND, code=any_of("1211 | 1221 | 1222")),
        Rule("zhipu.overflow", R.CONTEXT_OVERFLOW, code=("1261",)),
        Rule("zhipu.unsafe", R.REFUSAL, code=("1301",), category="policy"),
        Rule("zhipu.server", R.SERVER_ERROR, code=any_of("500 | 1230 | 1234 | 1120 | 1200")),
        Rule("zhipu.request", R.FORMAT, code=any_of("1210 | 1212 | 1213 | 1214 | 1215 | 1231")),
    ),
)
MINIMAX = Family(
    frozenset({"minimax"}),
    (
        Rule("minimax.rate", R.RATE_LIMIT, code=any_of("1002 | 1039 | 2045")),
        Rule("minimax.connections", R.RATE_LIMIT, code=("1041",), scope=S.PROFILE),
        Rule("minimax.window", R.RATE_LIMIT, code=("2056",), scope=S.PROFILE, long=True),
        Rule("minimax.auth", R.AUTH, code=any_of("1004 | 2049")),
        Rule("minimax.balance", R.BILLING, code=("1008",)),
        Rule("minimax.sensitive", R.REFUSAL, code=any_of("1026 | 1027"), category="policy"),
        Rule("minimax.timeout", R.TIMEOUT, code=("1001",)),
        Rule("minimax.server", R.SERVER_ERROR, code=any_of("1000 | 1013 | 1024 | 1033")),
        Rule("minimax.plan", R.MODEL_NOT_FOUND, code=("2061",), rotate=True),
        Rule(
            "minimax.overflow", R.CONTEXT_OVERFLOW, text=any_of("context window exceeds | context window ... exceed*")
        ),
        Rule(
            "minimax.request",
            R.FORMAT,
            code=any_of("2013 | 1042"),
            unless=any_of("unknown model | invalid model"),
        ),
    ),
)
MOONSHOT = Family(
    frozenset({"moonshot", "kimi-coding"}),
    (
        Rule("moonshot.balance", R.BILLING, code=("exceeded_current_quota_error",)),
        Rule(
            "moonshot.membership",
            R.RATE_LIMIT,
            text=any_of("billing cycle | 5 hour usage limit | usage limit for this"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule("moonshot.overloaded", R.OVERLOADED, code=("engine_overloaded_error",)),
        Rule(
            "moonshot.concurrency",
            R.RATE_LIMIT,
            text=any_of("max organization concurrency | organization ... concurrency"),
            scope=S.PROFILE,
        ),
        Rule(
            "moonshot.day",
            R.RATE_LIMIT,
            text=any_of("organization tpd | max organization tpd | tpd rate limit"),
            scope=S.PROFILE,
            long=True,
        ),
        Rule("moonshot.rate", R.RATE_LIMIT, code=("rate_limit_reached_error",), scope=S.PROFILE),
        Rule("moonshot.model", R.MODEL_NOT_FOUND, code=("resource_not_found_error",), rotate=True),
        Rule(
            "moonshot.auth",
            R.AUTH,
            code=any_of(
                "invalid_authentication_error | incorrect_api_key_error | permission_denied_error | "
                "access_terminated_error"
            ),
        ),
        Rule("moonshot.filter", R.REFUSAL, code=("content_filter",), category="policy"),
    ),
)
QWEN = Family(
    frozenset({"qwen"}),
    (
        Rule(
            "qwen.arrears",
            R.BILLING,
            code=any_of("arrearage | prepaidbilloverdue | postpaidbilloverdue | commoditynotpurchased"),
        ),
        Rule(
            "qwen.free_tier",
            R.BILLING,
            code=any_of("allocationquota_freetieronly | freetieronly | throttling_allocationquota_freetieronly"),
        ),
        Rule(
            "qwen.free_text",
            R.BILLING,
            text=any_of("free tier of the model has been exhausted | free allocated quota exceeded | free quota"),
        ),
        Rule(
            "qwen.plan_window",
            R.RATE_LIMIT,
            text=any_of(
                "hour allocated quota exceeded | week allocated quota exceeded | "
                "month allocated quota exceeded | allocated quota ... week"
            ),
            scope=S.PROFILE,
            long=True,
        ),
        Rule(
            "qwen.quota",
            R.RATE_LIMIT,
            code=any_of(
                "insufficient_quota | throttling_allocationquota | limitrequests | "
                "throttling_ratequota | throttling_burstrate | throttling_user | throttling | "
                "limit_requests | limit_burst_rate | ratequota"
            ),
        ),
        Rule("qwen.filter", R.REFUSAL, code=any_of("datainspectionfailed | data_inspection_failed"), category="policy"),
        Rule(
            "qwen.model",
            R.MODEL_NOT_FOUND,
            code=any_of("modelnotfound | model_not_found | model_not_supported | invalidparameter_notsupportmodel"),
        ),
        Rule(
            "qwen.model_access",
            R.MODEL_NOT_FOUND,
            code=any_of("model_accessdenied | access_denied_model | accessdenied_unpurchased | model_access_denied"),
            rotate=True,
        ),
        Rule("qwen.auth", R.AUTH, code=any_of("invalidapikey | invalid_api_key | accessdenied | access_denied")),
        Rule("qwen.overflow", R.CONTEXT_OVERFLOW, text=("range of input length should be",)),
        Rule("qwen.busy", R.OVERLOADED, code=any_of("modelunavailable | modelservingerror | serviceunavailable")),
        Rule("qwen.timeout", R.TIMEOUT, code=any_of("requesttimeout | responsetimeout")),
        Rule(
            "qwen.internal",
            R.SERVER_ERROR,
            code=any_of("internalerror | internalerror_algo | internalerror_timeout | systemerror | internal_error"),
        ),
    ),
)
VOLCENGINE = Family(
    frozenset({"volcengine"}),
    (
        Rule("volc.overdue", R.BILLING, code=any_of("accountoverdueerror | accountoverdue | insufficientbalance")),
        Rule("volc.plan", R.BILLING, code=("invalidsubscription",)),
        Rule(
            "volc.model_quota",
            R.RATE_LIMIT,
            code=any_of("quotaexceeded | setlimitexceeded"),
            text=("for the ... model",),
            unless=("for the model",),
            long=True,
        ),
        Rule("volc.quota", R.RATE_LIMIT, code=any_of("quotaexceeded | setlimitexceeded"), scope=S.PROFILE, long=True),
        Rule(
            "volc.paused",
            R.RATE_LIMIT,
            text=any_of("has reached the set inference limit | inference limit | safe experience mode"),
            long=True,
        ),
        Rule("volc.busy", R.OVERLOADED, code=any_of("serveroverloaded | requestbursttoofast")),
        Rule("volc.account_rate", R.RATE_LIMIT, code=("accountratelimitexceeded",), scope=S.PROFILE),
        Rule(
            "volc.rate",
            R.RATE_LIMIT,
            code=any_of(
                "ratelimitexceeded | modelaccountrpmratelimitexceeded | "
                "modelaccounttpmratelimitexceeded | "
                "apiaccountrpmratelimitexceeded | endpointrpmexceeded | endpointtpmexceeded | "
                "modelaccountipmratelimitexceeded | ratelimitexceeded_endpointrpmexceeded | "
                "ratelimitexceeded_endpointtpmexceeded"
            ),
        ),
        Rule(
            "volc.model",
            R.MODEL_NOT_FOUND,
            code=any_of(
                "invalidendpointormodel | invalidendpoint | invalidendpointormodel_notfound | "
                "invalidendpoint_notfound | invalidendpoint_closedendpoint | unsupportedmodel"
            ),
        ),
        Rule(
            "volc.model_access",
            R.MODEL_NOT_FOUND,
            code=any_of("modelnotopen | accessdenied_model | modelnotopenerror"),
            rotate=True,
        ),
        Rule(
            "volc.auth",
            R.AUTH,
            code=any_of("authenticationerror | invalidaccountstatus | accessdenied | operationdenied"),
        ),
        Rule(
            "volc.filter",
            R.REFUSAL,
            code=any_of(
                "sensitivecontentdetected | inputtextsensitivecontentdetected | "
                "outputtextsensitivecontentdetected | inputimagesensitivecontentdetected | "
                "contentsecuritydetectionerror"
            ),
            category="policy",
        ),
        Rule("volc.internal", R.SERVER_ERROR, code=("internalserviceerror",)),
    ),
)
SILICONFLOW = Family(
    frozenset({"siliconflow"}),
    (
        Rule("siliconflow.balance", R.BILLING, code=any_of("30001 | 30011")),
        Rule("siliconflow.disabled", R.MODEL_NOT_FOUND, code=("30003",)),
        Rule("siliconflow.identity", R.AUTH, code=any_of("30014 | 30002")),
        Rule("siliconflow.model", R.MODEL_NOT_FOUND, code=("20012",)),
        Rule("siliconflow.rate", R.RATE_LIMIT, code=any_of("30007 | 50603_rate")),
        Rule("siliconflow.busy", R.OVERLOADED, code=any_of("50505 | 50603 | 50508")),
        Rule("siliconflow.timeout", R.TIMEOUT, code=any_of("50504 | 50501")),
        Rule(
            "siliconflow.overflow",
            R.CONTEXT_OVERFLOW,
            text=any_of("max seq len | max total tokens | length of prompt tokens must be less than"),
        ),
        Rule(
            "siliconflow.request",
            R.FORMAT,
            code=("20015",),
            unless=any_of("invalid token | api key | thinking budget | enable thinking"),
        ),
    ),
)
FAMILIES = (ZHIPU, MINIMAX, MOONSHOT, QWEN, VOLCENGINE, SILICONFLOW)
