"""Law: the class names of HTTP libraries and SDKs, each with what went wrong; no library is imported for it."""

FAULTS: dict[str, str] = {
    "CancelledError": "cancelled", "KeyboardInterrupt": "cancelled", "APIUserAbortError": "cancelled",
    "ConnectTimeout": "connect_timeout", "ConnectTimeoutError": "connect_timeout", "ConnectionTimeoutError": "connect_timeout",
    "SSLCertVerificationError": "certificate", "CertificateError": "certificate", "ClientConnectorCertificateError": "certificate",
    "ClientConnectorSSLError": "tls", "SSLError": "tls", "SSLZeroReturnError": "disconnected", "SSLEOFError": "disconnected",
    "gaierror": "dns", "ClientConnectorDNSError": "dns", "ConnectionRefusedError": "refused", "EndpointConnectionError": "unreachable",
    "ClientConnectorError": "unreachable", "ConnectError": "unreachable", "ProxyError": "proxy", "ClientHttpProxyError": "proxy", "ProxyConnectionError": "proxy",
    "ConnectionResetError": "disconnected", "BrokenPipeError": "disconnected", "ConnectionAbortedError": "disconnected", "RemoteProtocolError": "disconnected",
    "IncompleteRead": "disconnected", "IncompleteReadError": "disconnected", "ServerDisconnectedError": "disconnected",
    "ClientPayloadError": "disconnected", "ClientOSError": "disconnected", "ClientConnectionResetError": "disconnected", "ReadError": "disconnected",
    "WriteError": "disconnected", "CloseError": "disconnected", "ChunkedEncodingError": "disconnected", "ProtocolError": "disconnected",
    "ConnectionClosedError": "disconnected", "StreamClosed": "disconnected", "ResponseStreamingError": "disconnected", "EventStreamError": "disconnected",
    "RemoteDisconnected": "disconnected", "HTTPClientError": "disconnected", "StreamError": "disconnected", "NetworkError": "disconnected",
    "PoolTimeout": "pool_timeout", "ReadTimeout": "read_timeout", "WriteTimeout": "read_timeout", "ReadTimeoutError": "read_timeout",
    "SocketTimeoutError": "read_timeout", "ServerTimeoutError": "read_timeout", "APITimeoutError": "read_timeout", "TimeoutException": "read_timeout",
    "Timeout": "read_timeout", "TimeoutError": "read_timeout", "DeadlineExceeded": "deadline_exceeded", "RetryError": "read_timeout",
    "APIConnectionError": "disconnected", "TooManyRedirects": "malformed", "DecodingError": "malformed", "ContentTypeError": "malformed",
    "APIResponseValidationError": "malformed", "UnsupportedProtocol": "bad_url", "InvalidURL": "bad_url", "LocalProtocolError": "bad_request_built",
    "NoCredentialsError": "missing_credential", "CredentialRetrievalError": "missing_credential", "PartialCredentialsError": "missing_credential",
    "ProfileNotFound": "missing_credential", "DefaultCredentialsError": "missing_credential", "TokenRetrievalError": "expired_token",
    "UnauthorizedSSOTokenError": "expired_token", "SSOTokenLoadError": "expired_token", "RefreshError": "oauth_refresh_failed",
    "ParamValidationError": "format", "ConnectionError": "disconnected", "ConnectionClosed": "disconnected", "ClientConnectionError": "disconnected",
}  # fmt: skip
"""Class name -> what went wrong. The most specific class of the MRO that stands here decides."""
