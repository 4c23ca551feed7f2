"""Modes, locks and queries of snapshots, in the group ``Connector``."""

from __future__ import annotations

from typing import Final

from connector.configdef.key import SINCE_3, UNTIL_2, Key
from connector.configdef.validators import (
    class_name,
    long,
    named_when_custom,
    python_when_custom,
)

SNAPSHOT: Final[tuple[Key, ...]] = (
    Key(
        "snapshot.lock.timeout.ms",
        "LONG",
        "10000",
        "MEDIUM",
        "Snapshot lock timeout (ms)",
        "How long the snapshot waits for a table lock, in milliseconds.",
        width="LONG",
        validators=(long,),
    ),
    Key(
        "memory.management.schemas.class",
        "CLASS",
        "io.debezium.relational.ConcurrentMapTableMappingStorage",
        "LOW",
        "Schema storage class",
        "Java class that holds table structures in memory.",
        width="LONG",
        validators=(class_name,),
        versions=SINCE_3,
        support="ignored",
        reason="Structures are held in the connector's own form",
    ),
    Key(
        "memory.management.tables.class",
        "CLASS",
        "io.debezium.relational.ConcurrentMapTableMappingStorage",
        "LOW",
        "Table storage class",
        "Java class that holds table structures in memory.",
        width="LONG",
        validators=(class_name,),
        versions=SINCE_3,
        support="ignored",
        reason="Structures are held in the connector's own form",
    ),
    Key(
        "snapshot.mode",
        "STRING",
        "initial",
        "MEDIUM",
        "Snapshot mode",
        (
            "When the existing rows are read: on the first start (initial), on every start (always), without streaming after it "
            "(initial_only), never (no_data), when the stored position is unusable (when_needed), as separate switches say "
            "(configuration_based), or as a Python class decides (custom)."
        ),
        width="SHORT",
        choices=("always", "initial_only", "configuration_based", "when_needed", "initial", "custom", "no_data"),
        choices_until_2=("always", "never", "initial_only", "initial", "custom"),
    ),
    Key(
        "snapshot.custom.class",
        "STRING",
        None,
        "MEDIUM",
        "Snapshot Mode Custom Class",
        "The Python class that decides about the snapshot with snapshot.mode=custom; later versions call it snapshot.mode.custom.name.",
        width="MEDIUM",
        validators=(named_when_custom("snapshot.mode", "snapshot.custom_class"),),
        unsupported=(python_when_custom("snapshot.mode"),),
        versions=UNTIL_2,
    ),
    Key(
        "snapshot.isolation.mode",
        "STRING",
        "serializable",
        "LOW",
        "Snapshot isolation mode",
        "Isolation level of the transaction that reads the snapshot.",
        width="SHORT",
        choices=("read_uncommitted", "repeatable_read", "read_committed", "serializable"),
        versions=SINCE_3,
        unknown_until_2=True,
    ),
    Key(
        "snapshot.query.mode",
        "STRING",
        "select_all",
        "LOW",
        "Snapshot query mode",
        "Where the snapshot's statements come from: all columns and rows (select_all), or a Python class (custom); "
        "snapshot.select.statement.overrides goes before both.",
        width="SHORT",
        choices=("custom", "select_all"),
        versions=SINCE_3,
        unknown_until_2=True,
    ),
    Key(
        "snapshot.query.mode.custom.name",
        "STRING",
        None,
        "MEDIUM",
        "Snapshot Query Mode Custom Name",
        "The Python class that gives the statements, for snapshot.query.mode=custom: package.module:Class or an entry point of the "
        "group understudy.snapshot_queries.",
        width="MEDIUM",
        validators=(named_when_custom("snapshot.query.mode"),),
        unsupported=(python_when_custom("snapshot.query.mode"),),
        versions=SINCE_3,
    ),
    Key(
        "snapshot.locking.mode.custom.name",
        "STRING",
        None,
        "MEDIUM",
        "Snapshot Locking Mode Custom Name",
        "The Python class that gives the locks, for snapshot.locking.mode=custom: package.module:Class or an entry point of the group "
        "understudy.snapshot_locks.",
        width="MEDIUM",
        validators=(named_when_custom("snapshot.locking.mode"),),
        unsupported=(python_when_custom("snapshot.locking.mode"),),
        versions=SINCE_3,
    ),
    Key(
        "snapshot.locking.mode",
        "STRING",
        "none",
        "LOW",
        "Snapshot locking mode",
        "Whether the snapshot locks tables against changes of their structure (shared), as a Python class says (custom), or not (none).",
        width="SHORT",
        choices=("shared", "custom", "none"),
        versions=SINCE_3,
        unknown_until_2=True,
    ),
)
