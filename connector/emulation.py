"""What differs between the versions of Debezium that can be emulated.

Each difference is one named attribute of :class:`Emulation`, and the code asks for it by that name. No other module compares versions.
A new version is one more :class:`Emulation` in :data:`EMULATIONS`. Every difference was recorded from the version itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

__all__ = ["DEBEZIUM_2_3_4", "DEBEZIUM_3_6_3", "DEBEZIUM_3_7_0", "DEFAULT", "EMULATIONS", "Emulation", "emulation_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulation:
    """One emulated version of Debezium. A flag is True where the version does what the name says."""

    version: str
    """As Debezium spells it, and as ``source.version`` shows it."""

    # Change events
    sends_ts_us_and_ns: bool
    """The envelope and the source block have ``ts_us`` and ``ts_ns`` beside ``ts_ms``."""
    sends_origin: bool
    """The source block has ``origin`` and ``origin_lsn``."""
    source_schema_version: int | None
    """The version of the source block's schema."""
    envelope_schema_version: int
    """The version of the envelope's schema."""
    snapshot_markers: str
    """The values that the schema of ``source.snapshot`` allows, separated by commas."""
    sends_transaction_last: bool
    """``transaction`` is the last field of the envelope. Otherwise it follows ``source``."""
    counts_messages: bool
    """Logical decoding messages have a transaction block, and the transaction's counts include them."""
    sends_context_headers: bool
    """``extended.headers.enabled`` adds headers."""
    truncates_bytes: bool
    """``column.truncate.to.N.chars`` cuts ``bytea`` too."""
    truncates_to_nothing: bool
    """``column.truncate.to.0.chars`` is allowed."""
    names_source_column: bool
    """``column.propagate.source.type`` adds the column's name to the schema."""
    names_source_types_alike: bool
    """The source's types have one name in snapshots and in the stream: without their schema, and ``serial`` for such a column."""
    misreads_streamed_names: bool
    """A byte beyond ASCII in a name that pgoutput sends becomes a character of its own, from U+FF80 on."""

    # Types
    unmapped_types: frozenset[str]
    """Types without a mapping that a later version has."""
    converts_connect_time_arrays: bool
    """Arrays of ``time`` can be converted with ``time.precision.mode=connect``."""
    converts_snapshots_by_driver: bool
    """Old dates and amounts of money look as the JDBC driver reads them, in snapshots and in all arrays."""
    reads_doubled_quotes: bool
    """A doubled quote in a column's default is a quote. Otherwise it ends the default."""
    saturates_infinities: bool
    """Microseconds at infinity are the most distant 64-bit numbers, and other units as distant. Otherwise they are the JDBC driver's."""
    keeps_zoned_times_whole: bool
    """24:00 UTC stays 24:00, and elements of timetz arrays have their fraction. Otherwise midnight, and whole seconds."""
    has_geometry_extensions: bool
    """The struct of PostGIS' geometry has a map ``extensions``."""
    needs_srids: bool
    """``GeometryFormatTransformer`` fails on a geometry without SRID into which it would write one."""

    # Converters
    reads_cloud_event_headers: bool
    """The converter of CloudEvents reads metadata from headers, and has the options for this. Otherwise it uses older names too."""

    # Offsets
    stores_null_transaction_id: bool
    """The offset of a stream without transaction metadata has ``transaction_id: null``."""
    stores_snapshot_completed: bool
    """The offset of a snapshot has its kind and ``snapshot_completed``. Otherwise it has ``snapshot: true``."""
    stores_keys_as_driver_objects: bool
    """Keys of an incremental snapshot hold timestamps and money as the JDBC driver's objects. Otherwise as text and decimals."""
    stores_conditions_in_parentheses: bool
    """The condition of an incremental snapshot stands in parentheses in the offset."""

    stores_events_processed: bool
    """``lsn_events_processed`` is stored even if it is 1."""
    stores_signals_of_tables: bool
    """The offset of an incremental snapshot has the id of the signal that asked for each table."""

    # Snapshots, signals and notifications
    cuts_tables: bool
    """Parallel snapshots read ranges of a table, and mark the first row of a snapshot."""
    reads_quoted_snapshot_tables: bool
    """``snapshot.include.collection.list`` may name tables in double quotes."""
    has_separate_snapshot_classes: bool
    """Statements and locks of a snapshot have classes of their own. Otherwise the snapshotter decides them too."""
    asks_snapshotter_about_errors: bool
    """A custom snapshotter is asked whether it takes a snapshot when changes are lost. Otherwise its snapshots always make up for them."""
    takes_blocking_snapshots: bool
    """Signals can ask for blocking snapshots."""
    reads_additional_conditions: bool
    """Signals can hold a list of conditions, ``additional-conditions``."""
    dates_watermarks: bool
    """Watermarks hold the times at which their window opens and closes."""
    labels_watermarks: bool
    """Watermarks hold the table, and the id that the signal gave as ``correlationId``."""
    dates_notifications: bool
    """Notifications have a timestamp."""
    notifies_whole_keys: bool
    """Notifications hold all columns of a key. Otherwise only the first."""
    notifies_snapshot_steps: bool
    """The initial snapshot notifies of its steps. Otherwise only of its result."""

    notifies_resolved_tables: bool
    """A notification lists the tables of a snapshot once they are known."""

    # Configuration and REST answers
    limits_publications: bool
    """A publication that the connector creates publishes only operations that ``skipped.operations`` does not contain, if that is set."""
    groups_by_purpose: bool
    """The connector's properties have groups by purpose, in another order. Otherwise ``Postgres``, ``Connector`` and ``Events``."""
    connects_despite_errors: bool
    """Validation connects to the database when the properties that it needs for this are valid. Otherwise when all are."""
    checks_wal_level: bool
    """Validation refuses a server without ``wal_level=logical``."""
    has_post_processors: bool
    """``post.processors`` has an effect."""
    has_plugin_versions: bool
    """Debezium's classes have a version. Otherwise it is ``undefined``."""
    shows_status_version: bool
    """The status of connectors and tasks has their version."""


_GEOMETRIC: Final = frozenset({"box", "circle", "line", "lseg", "path", "polygon"})

DEBEZIUM_2_3_4: Final = Emulation(
    version="2.3.4.Final",
    sends_ts_us_and_ns=False,
    sends_origin=False,
    source_schema_version=None,
    envelope_schema_version=1,
    snapshot_markers="true,last,false,incremental",
    sends_transaction_last=True,
    counts_messages=False,
    sends_context_headers=False,
    truncates_bytes=False,
    truncates_to_nothing=False,
    names_source_column=False,
    names_source_types_alike=False,
    misreads_streamed_names=True,
    unmapped_types=frozenset({"tsvector", "vector", "halfvec", "sparsevec", *_GEOMETRIC}),
    converts_connect_time_arrays=False,
    converts_snapshots_by_driver=True,
    reads_doubled_quotes=False,
    reads_cloud_event_headers=False,
    saturates_infinities=False,
    keeps_zoned_times_whole=False,
    has_geometry_extensions=False,
    needs_srids=True,
    stores_null_transaction_id=True,
    stores_snapshot_completed=False,
    stores_keys_as_driver_objects=True,
    stores_conditions_in_parentheses=False,
    stores_events_processed=False,
    stores_signals_of_tables=False,
    cuts_tables=False,
    reads_quoted_snapshot_tables=False,
    has_separate_snapshot_classes=False,
    asks_snapshotter_about_errors=False,
    takes_blocking_snapshots=False,
    reads_additional_conditions=False,
    dates_watermarks=False,
    labels_watermarks=False,
    dates_notifications=False,
    notifies_whole_keys=False,
    notifies_snapshot_steps=False,
    notifies_resolved_tables=False,
    limits_publications=False,
    groups_by_purpose=False,
    connects_despite_errors=True,
    checks_wal_level=True,
    has_post_processors=False,
    has_plugin_versions=False,
    shows_status_version=False,
)

DEBEZIUM_3_6_3: Final = Emulation(
    version="3.6.3.Final",
    sends_ts_us_and_ns=True,
    sends_origin=True,
    source_schema_version=1,
    envelope_schema_version=2,
    snapshot_markers="true,first,first_in_data_collection,last_in_data_collection,last,false,incremental",
    sends_transaction_last=False,
    counts_messages=True,
    sends_context_headers=True,
    truncates_bytes=True,
    truncates_to_nothing=True,
    names_source_column=True,
    names_source_types_alike=False,
    misreads_streamed_names=False,
    unmapped_types=_GEOMETRIC,
    converts_connect_time_arrays=True,
    converts_snapshots_by_driver=False,
    reads_doubled_quotes=True,
    reads_cloud_event_headers=True,
    saturates_infinities=False,
    keeps_zoned_times_whole=False,
    has_geometry_extensions=False,
    needs_srids=True,
    stores_null_transaction_id=False,
    stores_snapshot_completed=True,
    stores_keys_as_driver_objects=False,
    stores_conditions_in_parentheses=True,
    stores_events_processed=False,
    stores_signals_of_tables=False,
    cuts_tables=True,
    reads_quoted_snapshot_tables=True,
    has_separate_snapshot_classes=True,
    asks_snapshotter_about_errors=True,
    takes_blocking_snapshots=True,
    reads_additional_conditions=True,
    dates_watermarks=True,
    labels_watermarks=False,
    dates_notifications=True,
    notifies_whole_keys=True,
    notifies_snapshot_steps=True,
    notifies_resolved_tables=False,
    limits_publications=True,
    groups_by_purpose=False,
    connects_despite_errors=False,
    checks_wal_level=False,
    has_post_processors=True,
    has_plugin_versions=True,
    shows_status_version=True,
)

DEBEZIUM_3_7_0: Final = replace(
    DEBEZIUM_3_6_3,
    version="3.7.0.Final",
    names_source_types_alike=True,
    saturates_infinities=True,
    keeps_zoned_times_whole=True,
    unmapped_types=frozenset(),
    has_geometry_extensions=True,
    needs_srids=False,
    stores_events_processed=True,
    stores_signals_of_tables=True,
    labels_watermarks=True,
    notifies_resolved_tables=True,
    groups_by_purpose=True,
)

EMULATIONS: Final = (DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, DEBEZIUM_3_7_0)
"""Oldest first."""
DEFAULT: Final = DEBEZIUM_3_6_3
"""What a connector emulates unless its ``connector.plugin.version`` or the worker asks for another version."""

_BY_VERSION: Final = {emulation.version: emulation for emulation in EMULATIONS}


def emulation_of(version: str) -> Emulation:
    """Return the emulation of one of :data:`EMULATIONS`, by its ``version``. KeyError for any other text."""
    return _BY_VERSION[version]
