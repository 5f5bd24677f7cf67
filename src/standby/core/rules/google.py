"""Law: Google's status words and reasons (Gemini, Vertex, Code Assist), for those providers only."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Family, Rule, any_of

GOOGLE = Family(
    frozenset({"gemini", "vertex", "google-antigravity"}),
    (
        Rule("google.capacity", R.OVERLOADED, code=("model_capacity_exhausted",)),
        Rule(
            "google.capacity_text",
            R.OVERLOADED,
            text=any_of("no capacity available | model is overloaded | high demand"),
        ),
        Rule(
            "google.validation",
            R.AUTH,
            code=any_of(
                "validation_required | subscription_required | service_disabled | "
                "access_token_scope_insufficient | access_token_expired | credentials_missing | "
                "api_key_invalid | api_key_service_blocked | api_key_http_referrer_blocked | "
                "api_key_ip_address_blocked | iam_permission_denied | account_state_invalid"
            ),
        ),
        Rule(
            "google.banned",
            R.AUTH_PERMANENT,
            code=any_of("consumer_suspended | tos_violation | account_disabled | consumer_invalid"),
            text=(),
        ),
        Rule(
            "google.banned_text",
            R.AUTH_PERMANENT,
            text=any_of("violation of terms of service | reported as leaked | has been suspended"),
        ),
        Rule(
            "google.billing",
            R.BILLING,
            code=any_of("billing_disabled | insufficient_g1_credits_balance | billing_not_enabled"),
        ),
        Rule(
            "google.billing_text",
            R.BILLING,
            text=any_of(
                "billing to be enabled | billing is disabled | enable billing | prepayment credits | "
                "credits are depleted | free tier is not available | billing account | spending cap"
            ),
            unless=("current quota",),
        ),
        Rule("google.no_quota", R.RATE_LIMIT, code=("quota_zero",), scope=S.PROFILE, long=True, hint=False),
        Rule("google.no_quota_text", R.RATE_LIMIT, text=("limit 0",), long=True),
        Rule(
            "google.daily",
            R.RATE_LIMIT,
            hint=False,
            code=any_of(
                "perday | generaterequestsperdayperprojectpermodel_freetier | "
                "generaterequestsperdayperprojectpermodel | "
                "generaterequestsperdayperuserperprojectpermodel_freetier"
            ),
            long=True,
        ),
        Rule("google.daily_id", R.RATE_LIMIT, text=any_of("per day | perday*"), status=(429,), long=True),
        Rule("google.quota_exhausted", R.RATE_LIMIT, code=("quota_exhausted",), long=True),
        Rule(
            "google.exhausted", R.RATE_LIMIT, code=any_of("resource_exhausted | rate_limit_exceeded | quota_exceeded")
        ),
        Rule(
            "google.quota_text",
            R.RATE_LIMIT,
            text=any_of("exceeded your current quota | resource has been exhausted | resource exhausted"),
        ),
        Rule("google.location", R.AUTH, text=("user location is not supported",), scope=S.PROVIDER, rotate=False),
        Rule("google.unavailable", R.OVERLOADED, code=("unavailable",)),
        Rule("google.internal", R.SERVER_ERROR, code=any_of("internal | unknown | data_loss")),
        Rule(
            "google.deadline",
            R.TIMEOUT,
            code=any_of("deadline_exceeded | cancelled"),
            unless=any_of("by the client | by client"),
        ),
    ),
)
