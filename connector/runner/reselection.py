"""Reads rows whose events lack values again, and gives the values to the stream."""

from __future__ import annotations

from typing import Final

from connector.delivery.sink import Sink
from connector.events.reselect import Reread
from connector.events.stream import Stream
from connector.events.stream_source import NotReadError, StreamSource
from connector.events.transitions import NeedReread
from connector.log import EventLog
from connector.types.codec import Types

LOG: Final = EventLog(__name__)


async def complete_row(source: StreamSource, stream: Stream, first: NeedReread, types: Types, sink: Sink) -> None:
    """Read a row again until every rule has its values. Raises CdcError if the connection is lost or if the row's event cannot be built."""
    asked: Reread | None = first.reread
    while asked is not None:
        try:
            values = await source.read_again(asked, types, first.xid)
        except NotReadError as problem:
            if not asked.strict:
                LOG.warning("row not read again", table=asked.table.name, processor=asked.rule, reason=problem)
            asked = stream.complete(None, str(problem))
        else:
            asked = stream.complete(values)
        # The burst's limits do not count values that are read again, so this waits until there is room for more.
        sink.pump()
        await sink.room()
