"""Law: the demo's story as data: who fails how, what is asked, and what must come of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from standby.testing.fault_lines import Answer, Cut, Line, Status

SWIFT, STEADY, SPARE = "aurora/swift", "boreal/steady", "cirrus/spare"
WORK, HOME, MAIN, ONLY = "aurora:work", "aurora:home", "boreal:main", "cirrus:only"
KEYS: Mapping[str, str] = {
    WORK: "demo-key-aurora-work-0001",
    HOME: "demo-key-aurora-home-0002",
    MAIN: "demo-key-boreal-main-0003",
    ONLY: "demo-key-cirrus-only-0004",
}
HALF_A_MINUTE_MS = 31_000

CONFIG: Mapping[str, Any] = {
    "agents": {"defaults": {"model": {"primary": SWIFT, "fallbacks": [STEADY, SPARE]}}},
    "auth": {"order": {"aurora": [WORK, HOME]}},
}
PROVIDERS: Mapping[str, str] = {
    "aurora": "openai-chat",
    "boreal": "anthropic-messages",
    "cirrus": "openai-chat",
}


@dataclass(frozen=True, slots=True)
class Scene:
    """One message of the conversation."""

    title: str
    says: str
    """What the person writes."""
    script: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    """profile id -> what its provider does with the coming calls."""
    model: str = SWIFT
    """Who must answer."""
    profile: str = WORK
    reasons: tuple[str, ...] = ()
    """The failures on the way, in order."""
    answer: str = ""
    notice: str = ""
    """What the notice must begin with; empty = none."""
    passes_ms: int = 0
    """So much time passes before."""


LIMITED = Status(429, message="Rate limit reached for swift on requests per min. Please try again in 20s.",
                 type="requests", error_code="rate_limit_exceeded", retry_after=20)  # fmt: skip
REVOKED = Status(
    401, message="This API key has been revoked.", type="invalid_request_error", error_code="invalid_api_key"
)
BROKE = Status(400, message="Your credit balance is too low to access the API. Please go to Plans & Billing.",
               type="invalid_request_error")  # fmt: skip
BUSY = Status(
    503, message="The model is overloaded. Please try again later.", type="server_error", error_code="overloaded"
)

ISLANDS = "The Azores are nine islands in the Atlantic, and the highest point of Portugal is on one of them."

STORY: tuple[Scene, ...] = (
    Scene(
        "All is well",
        "Which sea lies north of Denmark?",
        {WORK: (Answer(text="The Skagerrak, an arm of the North Sea."),)},
        answer="The Skagerrak, an arm of the North Sea.",
    ),
    Scene(
        "A rate limit with Retry-After: another account of the same provider is free",
        "And east of it?",
        {WORK: (LIMITED,), HOME: (Answer(text="The Kattegat."),)},
        profile=HOME,
        reasons=("rate_limit",),
        answer="The Kattegat.",
    ),
    Scene(
        "A revoked key: no account of this provider is left, the next model serves this turn",
        "How deep is it?",
        {HOME: (REVOKED,), MAIN: (Answer(text="Shallow: 23 metres on average."),)},
        model=STEADY,
        profile=MAIN,
        reasons=("auth_permanent",),
        answer="Shallow: 23 metres on average.",
        notice="↪️ Model Fallback: boreal/steady (selected aurora/swift;",
    ),
    Scene(
        "An empty wallet: the account is disabled, the last model of the chain serves",
        "Is it salty?",
        {MAIN: (BROKE,), ONLY: (Answer(text="Less and less, the further south you go."),)},
        model=SPARE,
        profile=ONLY,
        reasons=("billing",),
        answer="Less and less, the further south you go.",
        notice="↪️ Model Fallback: cirrus/spare (selected aurora/swift;",
    ),
    Scene(
        "An overload that passes: the same model is asked again, after a wait",
        "Who lives there?",
        {ONLY: (BUSY, Answer(text="Herring, mostly."))},
        model=SPARE,
        profile=ONLY,
        reasons=("overloaded",),
        answer="Herring, mostly.",
    ),
    Scene(
        "A stream that is cut: the answer is carried on where it stopped, nothing is said twice",
        "Tell me about some islands.",
        {ONLY: (Cut(after=9, answer=Answer(text=ISLANDS)), Answer(text=ISLANDS))},
        model=SPARE,
        profile=ONLY,
        reasons=("timeout",),
        answer=ISLANDS,
    ),
    Scene(
        "Half a minute later the rate limit is over: back to the primary",
        "Thank you!",
        {WORK: (Answer(text="You are welcome. It is good to be back."),)},
        answer="You are welcome. It is good to be back.",
        notice="↪️ Model Fallback cleared: aurora/swift (was cirrus/spare)",
        passes_ms=HALF_A_MINUTE_MS,
    ),
)
