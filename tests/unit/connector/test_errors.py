"""Which failures a new attempt of the task may solve."""

from __future__ import annotations

from connector.errors import CdcError, ErrorKind
from tests.support.each_case import each_case

PASSING = {
    ErrorKind.PROVIDER_UNREACHABLE,
    ErrorKind.SOURCE_UNREACHABLE,
    ErrorKind.SOURCE_CONNECTION_LOST,
    ErrorKind.SOURCE_INTERRUPTED,
    ErrorKind.SLOT_BUSY,
    ErrorKind.SINK_UNREACHABLE,
    ErrorKind.STORE,
}


@each_case("kind", ErrorKind)
def test_a_lost_connection_passes_and_a_slow_statement_does_not(kind: ErrorKind) -> None:
    assert CdcError(kind, "x").passes is (kind in PASSING)


@each_case("kind", ErrorKind)
def test_an_interrupted_read_of_a_snapshot_is_not_repeated(kind: ErrorKind) -> None:
    assert CdcError(kind, "x").passes_without_snapshot is (kind in PASSING - {ErrorKind.SOURCE_INTERRUPTED})
