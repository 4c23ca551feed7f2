"""Rows that the stream stopped at because an event misses values: read again, and handed back."""

from __future__ import annotations

import logging

from connector.io.kafka_sink import KafkaSink
from connector.io.pg_connection import Connection
from connector.io.pg_reselect import NotReadError, read_again
from connector.stream import Stream
from connector.types.codec import Types

_log = logging.getLogger(__name__)


async def complete_rows(query: Connection, stream: Stream, types: Types, sink: KafkaSink) -> None:
    """Answer the stream until it asks for nothing more. Raises what a new connection may mend, and what the stream makes of the rest."""
    while (asked := stream.asked) is not None:
        try:
            values = await read_again(query, asked, types)
        except NotReadError as problem:
            if not asked.strict:
                _log.warning("row not read again table=%s processor=%s reason=%s", asked.table.name, asked.rule, problem)
            stream.answer(None, str(problem))
        else:
            stream.answer(values)
        # Values read again are none of the burst's bytes: a burst of them must not outgrow what may wait.
        sink.pump()
        await sink.room()
