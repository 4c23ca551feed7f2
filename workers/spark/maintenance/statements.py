"""The statements that maintain Delta's and Iceberg's tables. Pure: text only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from pyspark.sql.types import AtomicType, BinaryType, BooleanType

from workers.spark.maintenance.settings import LEAST_RETENTION, MaintainConfig
from workers.spark.sinks.delta.readers import MICROSECONDS
from workers.spark.tables.names import literal, quoted
from workers.spark.tables.partitions import partition_of
from workers.spark.tables.table import Table

SMALL: Final = 0.75
"""A file below this part of the wanted size is small. Iceberg has the same limit by default."""


def delta_settings(config: MaintainConfig, partitions: str) -> dict[str, str]:
    """The session's settings for OPTIMIZE and VACUUM. ``partitions`` is the session's number of partitions of a shuffle."""
    return {
        "spark.databricks.delta.optimize.maxFileSize": str(config.bytes),
        "spark.databricks.delta.optimize.minFileSize": str(int(config.bytes * SMALL)),
        # The key may be beyond the columns that have statistics. Sorted rows help then, too.
        "spark.databricks.delta.optimize.zorder.checkStatsCollection.enabled": "false",
        # As the sink writes tables for all readers. Spark reads both forms.
        MICROSECONDS[0]: MICROSECONDS[1],
        # VACUUM lists files in as many tasks as this says, by default 10,000.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": partitions,
        # Delta refuses a retention of less than 7 days. The configuration has its own limit.
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    }


def delta_statements(identifier: str, config: MaintainConfig, cluster: Sequence[str]) -> list[str]:
    """OPTIMIZE, by the columns ``cluster`` if there are any, and VACUUM."""
    order = f" ZORDER BY ({', '.join(quoted(name) for name in cluster)})" if cluster else ""
    return [f"OPTIMIZE {identifier}{order}", f"VACUUM {identifier} RETAIN {config.kept_seconds // 3600} HOURS"]


def iceberg_statements(catalog: str, identifier: str, config: MaintainConfig, cluster: Sequence[str], now: float) -> list[str]:
    """The procedures in their order. ``now`` is in seconds since 1970.

    Compaction applies the deletes of merge-on-read, whose files are then obsolete; afterwards manifests, snapshots and orphan files.
    """

    def call(procedure: str, **arguments: str) -> str:
        given = ", ".join(f"{name} => {value}" for name, value in {"table": literal(identifier), **arguments}.items())
        return f"CALL {quoted(catalog)}.system.{procedure}({given})"

    files = {
        "target-file-size-bytes": str(config.bytes),
        "min-input-files": "2",
        "delete-file-threshold": "1",
        "remove-dangling-deletes": "true",
    }
    if cluster:
        # The groups of small files are sorted each by itself, so all files must take part.
        order = {"strategy": "'sort'", "sort_order": literal(", ".join(quoted(name) for name in cluster))}
        compacted = call("rewrite_data_files", **order, options=_map({**files, "rewrite-all": "true"}))
    else:
        compacted = call("rewrite_data_files", options=_map(files))
    return [
        compacted,
        # It leaves out deletes of files that were compacted. By default it skips fewer than five files.
        call("rewrite_position_delete_files", options=_map({"rewrite-all": "true"})),
        call("rewrite_manifests", use_caching="false"),
        call("expire_snapshots", older_than=_time(now - config.kept_seconds), retain_last="1"),
        # Iceberg refuses less than a day here.
        call("remove_orphan_files", older_than=_time(now - max(config.kept_seconds, LEAST_RETENTION))),
    ]


def cluster_columns(table: Table, config: MaintainConfig, files: int, size: int) -> list[str]:
    """The key's columns, if sorting the rows by them pays; none otherwise.

    Sorting rewrites the whole table. It pays if the table then has several files, of which a batch reads those with its keys only,
    and if the present files are small, so that most of them would be rewritten anyway.
    """
    if not config.cluster or not files or size <= config.bytes or size / files >= config.bytes / 2:
        return []
    # Delta refuses to sort by a column of the partitions, whose value is the same in a file.
    partitions = {partition_of(text).column for text in table.partition_by}
    kinds = {column.name: column.kind.type for column in table.columns if column.name not in partitions}
    return [name for name in table.key if isinstance(kinds.get(name), AtomicType) and not isinstance(kinds[name], BinaryType | BooleanType)]


def _map(options: Mapping[str, str]) -> str:
    return f"map({', '.join(f'{literal(name)}, {literal(value)}' for name, value in options.items())})"


def _time(seconds: float) -> str:
    return f"TIMESTAMP '{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}+00:00'"
