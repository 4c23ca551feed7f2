"""``TimescaleDb``: changes of TimescaleDB's chunks as changes of their hypertables (Debezium documentation, "TimescaleDB integration").

TimescaleDB keeps a hypertable's rows in chunks, tables of a schema of its own. The transform gives an event the name of the hypertable, or
of the continuous aggregate that is kept in it, and tells the chunk in headers. Which chunk is whose is in TimescaleDB's catalog: it is
read at the first event of a chunk, and again at each event of a table of these schemas that the catalog did not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol

from connector.configdef.key import SINCE_3, Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import STRING
from connector.record.struct import field_of
from connector.transforms.debezium.envelope_name import change_event
from connector.transforms.transform import SharesHeaders, TransformDefinition

SCHEMAS: Final = "schema.list"
PREFIX: Final = "target.topic.prefix"
DATABASE: Final = ("database.", "driver.")
"""Options that begin so tell where the catalog is read; they are named as the connector's own."""

CHUNKS: Final = (
    "SELECT chunk.schema_name, chunk.table_name, owner.schema_name, owner.table_name FROM _timescaledb_catalog.chunk chunk "
    "LEFT JOIN _timescaledb_catalog.hypertable owner ON owner.id = chunk.hypertable_id"
)
"""Reads the chunks and the hypertable of each."""
AGGREGATES: Final = (
    "SELECT kept.schema_name, kept.table_name, shown.user_view_schema, shown.user_view_name FROM _timescaledb_catalog.continuous_agg shown "
    "LEFT JOIN _timescaledb_catalog.hypertable kept ON kept.id = shown.mat_hypertable_id"
)
"""Reads the hypertables of continuous aggregates and the view of each."""

_CHUNK: Final = ("__debezium_timescaledb_chunk_table", "__debezium_timescaledb_chunk_schema")
_HYPERTABLE: Final = ("__debezium_timescaledb_hypertable_table", "__debezium_timescaledb_hypertable_schema")


class Table(NamedTuple):
    """A table's schema and name."""

    schema: str
    name: str


class TimescaleMetadata(Protocol):
    """TimescaleDB's catalog. Both raise an error when the database cannot be read."""

    def chunks(self) -> Mapping[Table, Table | None]:
        """Return each chunk's hypertable, or None for a chunk whose hypertable is gone (:data:`CHUNKS`)."""

    def aggregates(self) -> Mapping[Table, Table]:
        """Return the view of each hypertable that holds a continuous aggregate (:data:`AGGREGATES`)."""


@dataclass(slots=True)
class _Catalog:
    """What was last read of the catalog."""

    chunks: Mapping[Table, Table | None] = field(default_factory=dict)
    aggregates: Mapping[Table, Table] = field(default_factory=dict)

    def hypertable(self, chunk: Table, metadata: TimescaleMetadata) -> Table | None:
        if chunk not in self.chunks:
            self.chunks, self.aggregates = metadata.chunks(), metadata.aggregates()
        return self.chunks.get(chunk)


@dataclass(frozen=True, slots=True)
class TimescaleDb(SharesHeaders):
    """Routes the events of tables in ``schemas`` to ``<prefix>.<schema>.<table>`` of the hypertable or aggregate.

    ``database`` holds the options of the connection by their full names; whoever makes the transform gives it ``metadata`` for them.
    """

    schemas: frozenset[str]
    prefix: str
    database: Mapping[str, str]
    metadata: TimescaleMetadata | None = None
    _catalog: _Catalog = field(default_factory=_Catalog)

    @classmethod
    def of(cls, options: Options) -> TimescaleDb:
        """Make it of its options, without metadata yet."""
        prefix = options.raw.get(PREFIX, _PREFIX)
        database = {f"{begin}{name}": value for begin in DATABASE for name, value in options.under(begin).items()}
        return cls(frozenset(options.names(SCHEMAS)), prefix, database)

    def with_metadata(self, metadata: TimescaleMetadata) -> TimescaleDb:
        """Return the same transform with a catalog to ask."""
        return replace(self, metadata=metadata, _catalog=_Catalog())

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the event as one of its hypertable. Raises DataError for an event whose source block names no table."""
        schema = change_event(record)
        source = None if schema is None else field_of(schema, "source")
        if source is None or source.schema.type != "struct" or record.value["source"] is None:
            return record
        block = record.value["source"]
        if "schema" not in block or "table" not in block:
            raise DataError("TimescaleDb needs the fields schema and table of the source block")
        if block["schema"] not in self.schemas or block["table"] is None:
            return record
        if self.metadata is None:
            raise DataError("TimescaleDb has no database to ask for the hypertables. Set the options database.* of the transform")
        chunk = Table(block["schema"], block["table"])
        hypertable = self._catalog.hypertable(chunk, self.metadata)
        if hypertable is None:
            return record
        headers = [Header(name, STRING, value) for name, value in zip(_CHUNK, reversed(chunk), strict=True)]
        shown = self._catalog.aggregates.get(hypertable)
        if shown is not None:
            headers += [Header(name, STRING, value) for name, value in zip(_HYPERTABLE, reversed(hypertable), strict=True)]
        table = shown or hypertable
        return replace(
            record,
            topic=f"{self.prefix}.{table.schema}.{table.name}",
            value={**record.value, "source": {**block, "schema": table.schema, "table": table.name}},
            headers=(*record.headers, *headers),
        )


_PREFIX: Final = "timescaledb"
KEYS: Final = (
    Key(
        SCHEMAS,
        "LIST",
        "_timescaledb_internal",
        "HIGH",
        "The list of TimescaleDB data schemas",
        "Schemas that TimescaleDB keeps its chunks in.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        PREFIX,
        "STRING",
        _PREFIX,
        "MEDIUM",
        "The prefix of TimescaleDB topic names",
        "What the topics of hypertables and aggregates begin with.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb",
        KEYS,
        TimescaleDb.of,
        SINCE_3,
        "Routes the changes of TimescaleDB's chunks to the topics of their hypertables.",
    ),
)
