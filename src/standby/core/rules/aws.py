"""Law: Bedrock's exception names, for Bedrock only."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

BEDROCK = Family(
    frozenset({"bedrock"}),
    (
        Rule("bedrock.not_ready", R.OVERLOADED, code=("modelnotreadyexception",)),
        Rule(
            "bedrock.payment",
            R.BILLING,
            text=any_of("invalid payment instrument | payment instrument | payment method"),
        ),
        Rule(
            "bedrock.marketplace",
            R.AUTH,
            text=any_of(
                "not authorized to perform the required aws marketplace | is not authorized to perform | explicit deny"
            ),
        ),
        Rule(
            "bedrock.model_access",
            R.MODEL_NOT_FOUND,
            text=any_of(
                "have access to the model | access to this model | model access is denied | "
                "model use case details have not been submitted | not available for this account | "
                "model access is"
            ),
            rotate=True,
        ),
        Rule(
            "bedrock.retired",
            R.MODEL_NOT_FOUND,
            text=any_of(
                "model identifier is invalid | reached the end of its life | "
                "marked by provider as legacy | on demand throughput | "
                "could not resolve the foundation model | model id ... isnt supported | "
                "isnt supported with on demand | model not found | inference profile | "
                "provided model identifier"
            ),
        ),
        Rule(
            "bedrock.credentials",
            R.AUTH,
            code=any_of(
                "expiredtokenexception | unrecognizedclientexception | invalidsignatureexception | "
                "incompletesignatureexception | missingauthenticationtokenexception | "
                "invalidclienttokenid | expiredtoken | accessdeniedexception | accessdenied | "
                "notauthorizedexception | optinrequired"
            ),
        ),
        Rule("bedrock.throttled_day", R.RATE_LIMIT, text=any_of("too many tokens per day | tokens per day"), long=True),
        Rule(
            "bedrock.quota",
            R.RATE_LIMIT,
            code=any_of("servicequotaexceededexception | limitexceededexception"),
            scope=S.PROFILE,
        ),
        Rule(
            "bedrock.throttled",
            R.RATE_LIMIT,
            code=any_of("throttlingexception | throttling | toomanyrequestsexception | requestlimitexceeded"),
        ),
        Rule(
            "bedrock.busy",
            R.OVERLOADED,
            code=any_of("serviceunavailableexception | serviceunavailable"),
            scope=S.PROVIDER,
        ),
        Rule(
            "bedrock.model_timeout",
            R.TIMEOUT,
            code=any_of("modeltimeoutexception | requesttimeout | requesttimeoutexception"),
        ),
        Rule(
            "bedrock.model_error",
            R.SERVER_ERROR,
            code=any_of(
                "modelerrorexception | modelstreamerrorexception | internalserverexception | "
                "internalfailure | internalserverfailure"
            ),
        ),
    ),
)
