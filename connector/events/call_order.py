"""The order of calls to a :class:`connector.events.stream.Stream`, and the error of a caller that does not keep it."""

from __future__ import annotations

from connector.events.reselect import Reread
from connector.wire.pgoutput import Relation


def out_of_order(call: str, relation: Relation | None, reread: Reread | None, *, broken: bool) -> RuntimeError:
    """Return the error of the method ``call``.

    The stream waits for the table of ``relation`` or for the values of ``reread``, or an earlier failure has ended it (``broken``).
    """
    if broken:
        return RuntimeError(f"Stream.{call}() was called after a failure, which ends the stream")
    if relation is not None:
        return RuntimeError(f"Stream.{call}() was called before adopt() for table {relation.schema}.{relation.table}")
    if reread is not None:
        return RuntimeError(f"Stream.{call}() was called before complete() for a row of table {reread.table.name}")
    return RuntimeError(f"Stream.{call}() was called though feed() did not ask for it")
