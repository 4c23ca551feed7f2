"""Adds the catalog's description to the tables that the stream describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.delivery.sink import Sink
from connector.events.capture import Capture
from connector.events.relation import former_key, join_relation, same_shape
from connector.events.stream import LiveTable, Stream
from connector.events.stream_source import StreamSource
from connector.log import EventLog
from connector.ports import Clock
from connector.types.codec import Types
from connector.wire.pgoutput import Relation

LOG: Final = EventLog(__name__)

_SETTLE_S: Final = 0.05
"""Time between the commit of a table's first change and the reading of the catalog."""


class LiveTables:
    """The tables of one run of the stream."""

    def __init__(
        self,
        config: ConnectorConfig,
        capture: Capture,
        sink: Sink,
        source: StreamSource,
        stream: Stream,
        clock: Clock,
        described: Callable[[CatalogTable, Types], None] | None = None,
    ) -> None:
        """``described`` is called with each description of a table, and the types of its columns."""
        self._described = described
        self._poll_s = config.poll_interval_ms / 1000
        self._capture = capture
        self._sink = sink
        self._source = source
        self._stream = stream
        self._clock = clock
        self._known: dict[tuple[str, str], CatalogTable] = {}
        self._relations: dict[tuple[str, str], Relation] = {}

    async def adopt(self, relation: Relation, received_at: float) -> None:
        """Give the stream the table of ``relation``, whose frame arrived at ``received_at`` (monotonic). Raises CdcError."""
        name = (relation.schema, relation.table)
        if not self._capture.selection.captures(*name):
            self._stream.adopt(relation, None)
            return
        clock, before = self._clock, self._known.get(name)
        if before is None:
            # Debezium reads the catalog a little later, so DDL that immediately follows a table's first change applies to that change too.
            # This pause has the same effect. It occurs once for each table and run, and only if the commit is recent.
            since_commit = clock.now_ns() / 1e9 - self._stream.source_ms / 1000
            await clock.sleep(min(_SETTLE_S, max(0.0, _SETTLE_S - since_commit)))
        elif not same_shape(relation, before):
            # DDL statements often come in series, and Debezium reads the catalog at its next poll. After the same pause, defaults and keys
            # are those at the end of the series.
            await clock.sleep(max(0.0, received_at + self._poll_s - clock.monotonic()))
            LOG.info("table changed", table=f"{relation.schema}.{relation.table}")
        await self._join(relation)

    async def refresh(self, schema: str, table: str) -> None:
        """Read the catalog again for a table whose changes were streamed (signal schema-changes). Raises CdcError."""
        relation = self._relations.get((schema, table))
        if relation is not None:
            await self._join(relation)
            LOG.info("table description read again", table=f"{schema}.{table}")

    async def _join(self, relation: Relation) -> None:
        name = (relation.schema, relation.table)
        capture = self._capture
        table = join_relation(relation, await self._source.read_table(*name))
        if capture.unknown_types(table):
            capture.types = await self._source.read_types()
        self._known[name] = table
        self._relations[name] = relation
        if self._described is not None:
            self._described(table, capture.types)
        self._warn_of_former_key(relation, table)
        encoder = capture.encoder(table)
        out = self._sink.out(encoder.topic)
        signals = name == capture.selection.signal_table
        reselections = capture.reselections(table, encoder)
        self._stream.adopt(relation, LiveTable(encoder, capture.source(table), out, signals=signals, reselections=reselections))

    def _warn_of_former_key(self, relation: Relation, table: CatalogTable) -> None:
        former, key = former_key(relation, table), self._capture.key_names(table)
        if former and key == (table.primary_key or table.unique_key):
            LOG.warning(
                "table was given another key before its changes were read: their events have the new key, so consumers cannot tell which"
                " rows they belong to; rebuild the tables made of this topic, and next time let the connector read all changes first",
                table=table.name,
                key=",".join(key),
                before=",".join(former),
            )
