"""Where mirrors are kept: a small description for each kind of place, and the sink of one.

Every kind passes the same tests (``tests/pipeline/test_spark_sinks.py``); what differs is told by the sinks themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from workers.spark.sinks.delta import DeltaSink
from workers.spark.sinks.iceberg import IcebergSink
from workers.spark.sinks.parquet import ParquetSink
from workers.spark.sinks.postgres import PostgresSink
from workers.spark.tables.table import Sink


@dataclass(frozen=True, slots=True)
class DeltaPlace:
    """See :class:`DeltaSink`: a folder (any path that Hadoop knows), a catalog, or both."""

    folder: str | None = None
    catalog: str | None = None
    drop_columns: bool = True
    threads: int = 4


@dataclass(frozen=True, slots=True)
class IcebergPlace:
    """See :class:`IcebergSink`: a catalog and its settings, none when the session has them."""

    catalog: str
    settings: Mapping[str, str] = field(default_factory=dict)
    drop_columns: bool = True
    threads: int = 4


@dataclass(frozen=True, slots=True)
class ParquetPlace:
    """See :class:`ParquetSink`."""

    folder: str
    drop_columns: bool = True
    threads: int = 4


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """See :class:`PostgresSink`. ``schemas`` maps the source's schemas to the mirror's; one that is not in it keeps its name."""

    dsn: str
    schemas: Mapping[str, str] = field(default_factory=dict)
    mirror: str = ""
    drop_columns: bool = True
    threads: int = 4


Place = DeltaPlace | IcebergPlace | ParquetPlace | PostgresPlace


def jar_groups(place: Place) -> tuple[str, ...]:
    """The groups of :data:`workers.spark.jars.GROUPS` that the place's sink needs."""
    match place:
        case DeltaPlace():
            return ("delta",)
        case IcebergPlace():
            return ("iceberg",)
        case ParquetPlace():
            return ()
        case PostgresPlace():
            return ("postgres",)


def sink_of(place: Place, spark: SparkSession) -> Sink:
    """The sink of a place. Raises JobError when the place lacks what its kind needs."""
    match place:
        case DeltaPlace():
            return DeltaSink(spark, place.folder, place.catalog, drop_columns=place.drop_columns, threads=place.threads)
        case IcebergPlace():
            return IcebergSink(spark, place.catalog, place.settings, drop_columns=place.drop_columns, threads=place.threads)
        case ParquetPlace():
            return ParquetSink(spark, place.folder, drop_columns=place.drop_columns, threads=place.threads)
        case PostgresPlace():
            return PostgresSink(
                spark, place.dsn, place.schemas, mirror=place.mirror, drop_columns=place.drop_columns, threads=place.threads
            )
