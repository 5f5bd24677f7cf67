"""Law: each word of a step has one sentence for people; a word without a sentence is shown as it is (SPEC 14)."""

from collections.abc import Mapping

from standby.core.reasons import FailureReason

R = FailureReason

MEANING: Mapping[FailureReason, str] = {
    R.AUTH: "the account was not accepted",
    R.AUTH_PERMANENT: "the account is closed, or its key was revoked",
    R.BILLING: "the account has no credit left",
    R.RATE_LIMIT: "too many requests",
    R.OVERLOADED: "the provider is overloaded",
    R.SERVER_ERROR: "an error at the provider",
    R.TIMEOUT: "it did not answer in time, or the connection broke off",
    R.TLS_CERTIFICATE: "its certificate could not be verified",
    R.MODEL_NOT_FOUND: "the model is not known there",
    R.FORMAT: "the request was rejected as malformed",
    R.CONTEXT_OVERFLOW: "the conversation does not fit",
    R.SESSION_EXPIRED: "the provider no longer knows the session",
    R.REFUSAL: "it refused",
    R.EMPTY_RESPONSE: "the answer was empty",
    R.NO_ERROR_DETAILS: "it failed without saying why",
    R.UNCLASSIFIED: "an error that no rule knows",
    R.UNKNOWN: "an unknown error",
    R.LOCAL: "a fault on this side",
    R.ABORTED: "the caller went away",
}

CALL: Mapping[str, str] = {
    "first": "the turn begins with the selected model",
    "fallback": "the next candidate of the chain",
    "rotate": "another account of the same provider is free",
    "retry": "the same model is asked again",
    "probe": "every account is cooling; one real request may look whether this one has recovered",
    "refreshed": "its token was refreshed",
    "compacted": "the conversation was shortened",
    "repair": "the error named what to change in the request, which was changed",
    "carry_on": "the started answer is carried on in another way",
    "continue": "the same model goes on",
}
WAIT: Mapping[str, str] = {
    "retry": "a failure of this kind often passes: the same model is asked again after a pause",
    "overloaded_backoff": "an overloaded model is left only after this pause (overloadedBackoffMs)",
}
MERIT: Mapping[str, str] = {
    "round robin": "it was used the longest ago",
    "explicit order": "the explicit order says so",
    "bound to the model": "the configuration binds it to the model",
    "pinned by the session": "it served this session before",
    "pinned by the user": "the user chose it",
}
SKIP: Mapping[str, str] = {
    "cooling": "all its accounts are held back",
    "disabled": "all its accounts are disabled",
    "no_profile": "its provider has no account that may be used",
    "spent": "all its accounts were asked in this turn already",
    "route_open": "its route has been failing and is left alone until a try succeeds",
    "skip_cache": "it failed with this account a short while ago in this session",
    "provider_tls": "its provider's certificate could not be verified earlier in this turn",
    "provider_auth": "its accounts are held back, and not for something that passes",
    "no_image": "it takes no images, and the request has one",
    "no_tools": "it takes no tools, and the request has some",
    "context_window": "its context window is too small for this request",
    "probe_used": "its accounts are held back, and this turn's one probe of the provider is spent",
    "probe_throttled": "its accounts are held back, and the provider was probed less than half a minute ago",
    "problem": "it cannot be called as configured",
}
GIVE_UP: Mapping[str, str] = {
    "exhausted": "no candidate is left that could be asked",
    "surfaced": "another model would meet the same, or there is none: the failure is told as it was",
    "committed": "part of the answer was delivered or work was done: asking again would repeat it",
    "cancelled": "the caller cancelled or went away",
    "retry_limit": "the turn has made as many calls as one turn may",
    "agent_run_terminal_timeout": "the turn's time is up",
    "idle_timeout_circuit_breaker": "the run went silent too often",
    "local": "a fault on this side that no other model would mend",
}
NOT_AGAIN: Mapping[str, str] = {
    "non_transient": "a failure of this kind does not pass by waiting",
    "long_window_rate_limit": "the limit lasts longer than a retry could wait (day, week, month or quota)",
    "retry_delay_exceeds_cap": "the wait would be longer than allowed while another is free",
    "retry_budget_exhausted": "its retries are used up",
    "window_exhausted": "it has been failing without a break for as long as recovery may take",
    "deadline": "the wait would end after the turn's deadline",
    "silent_route": "it gave no sign of life, and another candidate is free",
    "gateway_rotates": "a caller is waiting, and another account is free at once",
    "rotated_profile_has_one": "the retries of this model are used up: another account has one attempt",
}
"""Why the same model was not asked again (the words of `core.recovery`)."""

SOURCES: Mapping[str, str] = {
    "default": "the configured default",
    "agent_primary": "the agent's own model",
    "agent_fallbacks": "the agent's own list",
    "user": "chosen by the user",
    "user_default": "the default, chosen by the user",
    "auto": "an automatic choice of an older version",
    "cron": "the job's model",
    "heartbeat": "the heartbeat's model",
    "subagent": "the sub-agent's model",
    "acp": "the default, for an agent with a harness of its own",
    "caller": "the caller's own list",
    "one_model": "a command for one model",
    "locked": "locked",
    "image": "the image model",
    "api": "named by the request",
}


def meaning(reason: FailureReason) -> str:
    """`rate_limit: too many requests`."""
    return f"{reason}: {MEANING[reason]}" if reason in MEANING else str(reason)
