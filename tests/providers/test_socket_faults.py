"""Every way to fail on a socket ends as a failure with its facts, never as an answer that is cut short (I20)."""

import pytest
from tests.providers.fault_table import ANSWERS, FAULTS, WAITS
from tests.providers.kit import DIALECTS, call, once

from standby.core.classify import classify
from standby.core.reasons import FailureReason
from standby.core.values import Phase
from standby.testing.faults import FaultServer
from standby.wires.common import Dialect

R = FailureReason
TRANSIENT = {R.TIMEOUT, R.OVERLOADED, R.SERVER_ERROR, R.EMPTY_RESPONSE, R.UNCLASSIFIED}
"""None of these failures says anything about the key or the request: no account is blamed for them."""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("mode", ["stream", "whole", "passthrough"])
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told(name: str, mode: str, dialect: Dialect) -> None:
    fault = FAULTS[name]
    stream = mode != "whole"
    expected = fault.stream if stream else fault.whole
    async with FaultServer() as server:
        server.script("*", fault.line)
        asked = call(dialect, stream=stream, passthrough=mode == "passthrough")
        result = await once(server, asked, dialect, 0.06 if expected == WAITS else 15.0)
        if expected == WAITS:
            assert result.timed_out and not result.answered, result
        elif expected == ANSWERS:
            assert result.answered and result.signal is None, result.signal
            assert result.phases[-1] is Phase.DONE
        else:
            assert result.signal is not None and not result.answered, result
            assert classify(result.signal).reason in TRANSIENT, (classify(result.signal).rule, result.signal)
            if fault.codes and stream:
                told = {result.signal.code, result.signal.details.get("fault", "")}
                assert told & fault.codes, (told, result.signal)
        await server.until(lambda: server.open_connections == 0)
        assert server.connections == 1
