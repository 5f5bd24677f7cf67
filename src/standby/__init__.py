"""Standby: model failover for people who run LLM agents and applications.

Importing this is cheap: server, client and command line are loaded when they are used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from standby.app import Standby
    from standby.core.policy import POLICY_2026_7, POLICY_2026_9, Policy
    from standby.core.reasons import FailureReason
    from standby.core.values import Attempt, ErrorSignal, Failure, ModelRef
    from standby.errors import (
        FailoverError,
        FallbackSummaryError,
        Misconfigured,
        RequestRejected,
        StandbyError,
        StoreUnavailable,
        TurnCancelled,
    )
    from standby.fallback import FallbackResult, FallbackState, run_with_model_fallback
    from standby.turns import Reply

__version__ = "0.1.0"

_PLACES = {
    "Standby": "app",
    "POLICY_2026_7": "core.policy",
    "POLICY_2026_9": "core.policy",
    "Policy": "core.policy",
    "FailureReason": "core.reasons",
    "Attempt": "core.values",
    "ErrorSignal": "core.values",
    "Failure": "core.values",
    "ModelRef": "core.values",
    "FailoverError": "errors",
    "FallbackSummaryError": "errors",
    "Misconfigured": "errors",
    "RequestRejected": "errors",
    "StandbyError": "errors",
    "StoreUnavailable": "errors",
    "TurnCancelled": "errors",
    "FallbackResult": "fallback",
    "FallbackState": "fallback",
    "run_with_model_fallback": "fallback",
    "Reply": "turns",
}

__all__ = [
    "POLICY_2026_7",
    "POLICY_2026_9",
    "Attempt",
    "ErrorSignal",
    "FailoverError",
    "Failure",
    "FailureReason",
    "FallbackResult",
    "FallbackState",
    "FallbackSummaryError",
    "Misconfigured",
    "ModelRef",
    "Policy",
    "Reply",
    "RequestRejected",
    "Standby",
    "StandbyError",
    "StoreUnavailable",
    "TurnCancelled",
    "run_with_model_fallback",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'standby' has no attribute {name!r}")
    from importlib import import_module  # the point: nothing is loaded before it is used

    return getattr(import_module(f"standby.{_PLACES[name]}"), name)
