"""Law: a failure leaves the provider as facts, and the secret that was sent is in none of them (I20, I25)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from standby.core.values import ErrorSignal, Phase
from standby.errors import RequestRejected
from standby.providers.body import BodyFault
from standby.providers.http import BadFraming, BadHeader
from standby.signals import from_event, from_exception, from_http
from standby.wires.json import encode

CAUGHT = (
    aiohttp.ClientError,
    OSError,
    TimeoutError,
    BadHeader,
    BadFraming,
    BodyFault,
    RequestRejected,
    aiohttp.http.HttpProcessingError,
)
"""What a call can end in, apart from cancellation."""
MASK = b"***"
SHORTEST = 8
"""A shorter secret is no secret; replacing it would only garble texts."""


class Foreign(RequestRejected):
    """A credential of another provider: it is not sent (I24)."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the signals of one call."""

    provider: str
    api: str
    url: str
    now_ms: int
    secret: bytes = field(default=b"", repr=False)

    def http(self, status: int | None, headers: Mapping[str, str], body: Any, code: str = "") -> ErrorSignal:
        """A status that is none of success, or a body that is no answer."""
        return from_http(
            provider=self.provider,
            api=self.api,
            status=status,
            headers=self._clean(headers),
            body=self.masked(body),
            now_ms=self.now_ms,
            base_url=self.url,
            code=code,
        )

    def redirect(self, status: int, headers: Mapping[str, str]) -> ErrorSignal:
        """Never followed: the credential would go along."""
        text = f"HTTP {status}: the provider points elsewhere; redirects are not followed, correct the baseUrl"
        return self.http(status, headers, text, "redirected")

    def stream(self, code: str, data: Any, headers: Mapping[str, str]) -> ErrorSignal:
        """A stream that is no answer, or not a whole one; or an error event in it."""
        if code == "error_event":
            return from_event(
                provider=self.provider,
                api=self.api,
                data=self.masked(data),
                now_ms=self.now_ms,
                headers=self._clean(headers),
                base_url=self.url,
            )
        return from_http(
            provider=self.provider,
            api=self.api,
            headers=self._clean(headers),
            body=self.masked(data),
            where="stream",
            now_ms=self.now_ms,
            base_url=self.url,
            phase=Phase.STREAMING,
            code=code,
        )

    def broken(self, error: BaseException, phase: Phase) -> ErrorSignal:
        """A connection or a body that broke, or a request that was not sent at all."""
        if isinstance(error, BodyFault | BadFraming | aiohttp.http.HttpProcessingError):
            code = "stream_truncated" if isinstance(error, BodyFault) and error.code == "truncated" else ""
            return from_http(
                provider=self.provider,
                api=self.api,
                body=str(error),
                where="stream",
                now_ms=self.now_ms,
                base_url=self.url,
                phase=phase,
                code=code or "malformed_response",
            )
        local = isinstance(error, BadHeader | RequestRejected)
        return from_exception(
            error,
            provider=self.provider,
            api=self.api,
            now_ms=self.now_ms,
            phase=Phase.LOCAL if local else phase,
            base_url=self.url,
        )

    def masked(self, body: Any) -> Any:
        """The body without the secret, should the provider have echoed it."""
        if len(self.secret) < SHORTEST or body is None:
            return body
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else encode(body)
        return data.replace(self.secret, MASK) if self.secret in data else body

    def _clean(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        secret = self.secret.decode()
        if len(secret) < SHORTEST or not any(secret in value for value in headers.values()):
            return headers
        return {name: value.replace(secret, MASK.decode()) for name, value in headers.items()}
