"""Law: what callers may catch, by whose fault it is; each with a `status_hint` (ARCHITECTURE, Habits)."""

from collections.abc import Sequence

from standby.core.reasons import FailureReason
from standby.core.values import Attempt


class StandbyError(Exception):
    """Base of all errors of this library."""

    status_hint = 500


class RequestRejected(StandbyError):
    """The caller's fault: the request cannot be understood or may not be made."""

    status_hint = 400

    def __init__(
        self, message: str, *, param: str | None = None, status_hint: int = 400, code: str = "invalid_request"
    ) -> None:
        super().__init__(message)
        self.param, self.status_hint, self.code = param, status_hint, code


class Misconfigured(StandbyError):
    """The operator's fault: names the place (file, line, path) and the way out. CLI exit code 2."""

    status_hint = 500

    def __init__(
        self, message: str, *, path: str | None = None, file: str | None = None, line: int | None = None
    ) -> None:
        super().__init__(message)
        self.path, self.file, self.line = path, file, line


class StoreUnavailable(StandbyError):
    """Our own store cannot be read or written: never an auth error, never cools a profile (RELIABILITY R7)."""

    status_hint = 503


class SessionConflict(StandbyError):
    """A session changed under the writer: read it again."""

    status_hint = 409


class FailoverError(StandbyError):
    """The providers' fault: a turn failed. Carries every attempt (SPEC 10)."""

    def __init__(
        self,
        message: str,
        *,
        reason: FailureReason,
        attempts: Sequence[Attempt] = (),
        status: int | None = None,
        code: str = "",
        provider: str = "",
        model: str = "",
        profile: str | None = None,
        soonest_cooldown_expiry: int | None = None,
    ) -> None:
        super().__init__(message)
        self.reason, self.attempts, self.status, self.code = reason, tuple(attempts), status, code
        self.provider, self.model, self.profile = provider, model, profile
        self.soonest_cooldown_expiry = soonest_cooldown_expiry

    @property
    def status_hint(self) -> int:  # type: ignore[override]
        """The HTTP status that a door should answer with."""
        return self.status or 502


class FallbackSummaryError(FailoverError):
    """Several attempts, all failed."""


class TurnCancelled(StandbyError):
    """The caller aborted the turn."""

    status_hint = 499
