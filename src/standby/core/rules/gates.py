"""Law: what is no failure of the provider is said first: reply text, the caller's abort, our own faults, our own wordings."""

from standby.core.reasons import FailureReason as R
from standby.core.reasons import Scope as S
from standby.core.rules.rule import Rule, any_of

GATES = (
    Rule("gate.reply_text", R.NONE, code=("where_output",)),
    Rule(
        "gate.caller_abort", R.ABORTED, code=any_of("caller_abort | fault_cancelled | caller_deadline | client_closed")
    ),
    Rule(
        "gate.local",
        R.LOCAL,
        code=any_of("store_down | local | local_fault | config_error | fault_bad_url | fault_bad_request_built"),
    ),
    Rule(
        "gate.transcript",
        R.FORMAT,
        code=any_of("invalid_transcript | transcript_invalid"),
        scope=S.NONE,
        category="transcript",
    ),
    Rule(
        "gate.credential",
        R.AUTH,
        code=any_of(
            "missing_credential | unresolved_ref | selected_auth_profile_unavailable | no_credentials | "
            "expired_credential | expired | refresh_elsewhere | refresh_unsupported | "
            "fault_missing_credential | fault_expired_token"
        ),
    ),
    Rule("gate.refresh_contention", R.TIMEOUT, code=("refresh_contention",), scope=S.REQUEST),
    Rule("gate.unknown_model", R.MODEL_NOT_FOUND, code=any_of("unknown_model | unknown_provider")),
    Rule(
        "gate.certificate_text",
        R.TLS_CERTIFICATE,
        code=any_of("fault_tls | fault_unreachable | fault_disconnected"),
        text=any_of(
            "certificate verify failed | self signed certificate | certificate has expired | "
            "hostname mismatch | unable to get local issuer certificate"
        ),
    ),
    Rule("gate.pool", R.TIMEOUT, code=("fault_pool_timeout",), rotate=False),
    Rule(
        "gate.unreached",
        R.TIMEOUT,
        code=any_of("fault_connect_timeout | fault_refused | fault_unreachable | fault_dns | fault_proxy"),
        scope=S.PROVIDER,
        rotate=False,
    ),
    Rule("gate.certificate", R.TLS_CERTIFICATE, code=("fault_certificate",)),
    Rule("gate.handshake", R.TIMEOUT, code=("fault_tls",), scope=S.PROVIDER, rotate=False),
    Rule("gate.silent", R.TIMEOUT, code=any_of("silent | first_token_timeout | idle_timeout")),
    Rule("runtime.no_details", R.NO_ERROR_DETAILS, text=("^unknown error no error details in response$",)),
    Rule("runtime.unknown", R.UNKNOWN, text=("^llm request failed with an unknown error$",)),
    Rule(
        "runtime.unknown_occurred",
        R.TIMEOUT,
        text=any_of("^an unknown error occurred$ | ^error an unknown error occurred$"),
    ),
    Rule(
        "runtime.request_failed",
        R.TIMEOUT,
        text=any_of(
            "^llm request failed$ | ^request failed$ | ^terminated$ | "
            "request failed after repeated internal retries | ^fetch failed$"
        ),
    ),
    Rule(
        "runtime.abort_text",
        R.ABORTED,
        text=any_of(
            "^request was aborted$ | "
            "^this operation was aborted$ | ^aborterror this operation was aborted$ | "
            "user aborted a request | aborted by the user | cancelled by the user | canceled by the user | "
            "^cancellederror$ | ^cancelled$ | ^canceled$ | context canceled | "
            "aborted by user | cancelled by user | canceled by user | ^asyncio exceptions cancellederror$ | "
            "client closed the connection | client disconnected | request cancelled by client | "
            "^apiuseraborterror request was aborted$"
        ),
        status=(0,),
    ),
)
"""Held against every signal before any provider's own rules."""
