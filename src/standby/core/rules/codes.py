"""Law: a name that means one thing with every provider decides before any prose is read (SPEC 6)."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Rule, any_of

CODES = (
    Rule(
        "code.request_ceiling", R.CONTEXT_OVERFLOW, code=("request_over_limit",), fallback=True, category="request_size"
    ),
    Rule(
        "code.context",
        R.CONTEXT_OVERFLOW,
        code=any_of(
            "request_too_large | context_length_exceeded | context_window_exceeded | "
            "model_max_prompt_tokens_exceeded | string_above_max_length_prompt | "
            "exceed_context_size_error | contextwindowexceedederror | prompt_too_long | "
            "context_overflow | max_context_length_exceeded | input_too_long | "
            "context_length_error | prompt_tokens_exceeded | tokens_limit_reached | "
            "input_tokens_exceeded | contextlengthexceeded"
        ),
    ),
    Rule(
        "code.refusal",
        R.REFUSAL,
        code=any_of(
            "content_filter | content_policy_violation | contentpolicyviolationerror | "
            "responsibleaipolicyviolation | moderation_blocked | safety_violation | "
            "content_filter_error | content_moderation | policy_violation | sensitive_content | "
            "data_inspection_failed | datainspectionfailed | sensitivecontentdetected | "
            "inputtextsensitivecontentdetected | outputtextsensitivecontentdetected | "
            "image_content_policy_violation | contentfiltered | content_blocked | "
            "invalid_prompt_safety | guardrail_violation | input_moderation | safety_check_failed"
        ),
        category="policy",
    ),
    Rule(
        "code.session",
        R.SESSION_EXPIRED,
        code=any_of(
            "previous_response_not_found | websocket_connection_limit_reached | conversation_not_found | session_expired | "
            "session_not_found | thread_not_found | invalid_session | conversation_expired | "
            "no_such_session"
        ),
    ),
    Rule(
        "code.auth_permanent",
        R.AUTH_PERMANENT,
        code=any_of(
            "token_revoked | access_terminated | account_deactivated | project_archived | deactivated_workspace | api_key_revoked | key_revoked | "
            "account_suspended | account_disabled | organization_deactivated | "
            "user_deactivated | account_deleted | key_disabled | api_key_disabled | "
            "revoked_api_key | account_banned | account_terminated | organization_disabled | "
            "invalid_grant | refresh_token_reused | refresh_token_expired | "
            "refresh_token_invalidated | invalid_refresh_token | consumer_suspended | "
            "apikeyrevoked | unauthorized_client"
        ),
    ),
    Rule(
        "code.exhausted_quota",
        R.RATE_LIMIT,
        code=("resource_exhausted",),
        text=any_of("exceeded your current quota | quota exceeded"),
        unless=any_of("credits | prepayment | spending cap"),
    ),
    Rule(
        "code.billing",
        R.BILLING,
        code=any_of(
            "insufficient_quota | billing_hard_limit_reached | insufficient_balance | "
            "payment_required | billing_not_active | insufficient_credits | "
            "insufficient_user_quota | insufficient_funds | credit_balance_too_low | "
            "billing_error | arrearage | accountoverdueerror | accountoverdue | "
            "invalidsubscription | balance_insufficient | no_credits | credits_exhausted | "
            "credit_exhausted | quota_not_enough | pre_consume_token_quota_failed | "
            "budget_exceeded | usage_not_included | prepaidbilloverdue | postpaidbilloverdue | "
            "commoditynotpurchased | freetieronly | billing_limit_exceeded | "
            "insufficient_account_balance | account_balance_insufficient"
        ),
    ),
    Rule(
        "code.capacity",
        R.OVERLOADED,
        code=any_of(
            "model_capacity_exhausted | server_is_overloaded | flex_unavailable | "
            "resource_unavailable | modelnotreadyexception | engine_overloaded | "
            "engine_overloaded_error | model_overloaded | service_overloaded | "
            "serveroverloaded | no_capacity | model_at_capacity | capacity_exceeded | "
            "node_overloaded"
        ),
    ),
    Rule("code.limit_reached_type", R.RATE_LIMIT, code=("rate_limit_reached_type",), scope=S.PROFILE, long=True),
    Rule("code.cooldown", R.RATE_LIMIT, code=any_of("model_cooldown | all_credentials_cooling | deployment_cooldown")),
    Rule(
        "code.image",
        R.FORMAT,
        text=any_of(
            "image dimensions exceed | image exceeds ... mb | image exceeds ... maximum | "
            "image too large | image size exceeds | could not process image"
        ),
    ),
    Rule(
        "code.model",
        R.MODEL_NOT_FOUND,
        code=any_of(
            "unsupported_api_for_model | model_not_found | model_not_found_error | model_not_available | "
            "deploymentnotfound | modelnotfound | modelnotexist | no_such_model | unknownmodel | "
            "unsupported_model | model_deprecated | model_deactivated | model_decommissioned | "
            "model_does_not_exist | modelnotfounderror | invalid_model | invalid_model_name | "
            "invalidendpointormodel | model_not_supported | model_archived | model_retired | "
            "unavailable_model | modelnotopen | nosuchmodel | model_invalid | router_not_found | "
            "operationnotsupported_model"
        ),
        unless=any_of(
            "not allowed to | not have permission | no access | does not have access to | "
            "must be verified | your team | not authorized | dont have access to | "
            "you do not have access to the | not have access to model"
        ),
    ),
    Rule(
        "code.model_access",
        R.MODEL_NOT_FOUND,
        code=any_of(
            "model_not_found | model_not_available | deploymentnotfound | modelnotfound | "
            "key_model_access_denied | model_access_denied | team_model_access_denied | "
            "user_model_access_denied | model_not_allowed | modelnotopen | "
            "invalidendpointormodel | access_denied_model | model_not_found_error | "
            "org_model_access_denied | project_model_access_denied | "
            "model_permission_blocked_org | model_permission_blocked_project | "
            "unsupported_model | invalid_model | no_access_to_model | model_access_restricted | "
            "unavailable_model | model_not_supported"
        ),
        rotate=True,
    ),
    Rule(
        # The code says that the key is not valid, the words why: for good.
        "code.auth_revoked",
        R.AUTH_PERMANENT,
        code=any_of("invalid_api_key | invalid_key | api_key_invalid | invalidapikey | invalid_authentication"),
        text=any_of(
            "has been revoked | was revoked | is revoked | has been disabled | was disabled | is disabled | "
            "has been deactivated | was deactivated | is deactivated | has been deleted | was deleted | "
            "has been suspended | has been banned"
        ),
    ),
    Rule(
        "code.auth",
        R.AUTH,
        code=any_of(
            "invalid_api_key | expired_key | token_invalidated | token_expired | "
            "no_auth_header | api_key_invalid | invalid_authentication | expiredtokenexception | "
            "unrecognizedclientexception | invalidsignatureexception | "
            "incompletesignatureexception | missingauthenticationtokenexception | expiredtoken | "
            "invalidclienttokenid | signaturedoesnotmatch | invalid_api_key_error | "
            "missing_api_key | authentication_failed | invalid_key | invalidapikey | "
            "access_token_expired | token_not_found_in_db | invalid_bearer_token | "
            "fault_oauth_refresh_failed | service_disabled | access_token_scope_insufficient | "
            "validation_required | subscription_required"
        ),
        unless=any_of("credit balance | insufficient balance | insufficient credit*"),
    ),
    Rule(
        # What is wrong with the request is named; the words may quote anybody's failure.
        "code.request",
        R.FORMAT,
        code=any_of(
            "invalid_image_url | invalid_image | invalid_base64 | invalid_base64_image | image_parse_error | "
            "invalid_type | missing_required_parameter | array_above_max_length | empty_array | "
            "invalid_function_parameters | invalid_json_schema"
        ),
        status=(400, 422),
    ),
    Rule(
        "code.tls",
        R.TLS_CERTIFICATE,
        code=any_of(
            "cert_has_expired | self_signed_cert_in_chain | depth_zero_self_signed_cert | "
            "unable_to_verify_leaf_signature | unable_to_get_issuer_cert_locally | "
            "err_tls_cert_altname_invalid | unable_to_get_issuer_cert"
        ),
    ),
    Rule(
        "code.network",
        R.TIMEOUT,
        code=any_of(
            "econnreset | etimedout | esockettimedout | econnaborted | epipe | enetreset | "
            "err_stream_premature_close | und_err_socket | und_err_headers_timeout | "
            "und_err_body_timeout | err_http2_invalid_session | eproto | "
            "err_websocket_transport | fault_disconnected | fault_read_timeout | "
            "fault_deadline_exceeded | err_ssl_protocol_returned_an_error | "
            "err_ssl_wrong_version_number"
        ),
        status=(0, 2),
        unless=any_of(
            "connect etimedout | connection refused | connect timeout | "
            "name or service not known | nodename nor servname | name resolution | "
            "getaddrinfo* | all connection attempts failed | cannot connect to host | "
            "newconnectionerror | certificate verify failed | network is unreachable | "
            "no route to host | failed to establish | connecttimeouterror | "
            "self signed certificate | connect timed out | certificate has expired | "
            "hostname mismatch | cannot connect to proxy"
        ),
    ),
    Rule(
        "code.unreached",
        R.TIMEOUT,
        code=any_of(
            "econnrefused | enotfound | ehostunreach | enetunreach | ehostdown | enetdown | "
            "eai_again | eaddrnotavail | und_err_connect_timeout | und_err_connect | "
            "und_err_dns_resolve_failed | phase_connect"
        ),
        status=(0, 2),
        scope=S.PROVIDER,
        rotate=False,
    ),
)
