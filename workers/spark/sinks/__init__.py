"""The places of mirrors: a description for each kind of place, and its sink.

Every kind passes the same tests (``tests/spark/test_sinks.py``). The sinks describe their differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from workers.spark.sinks.delta.log_folder import is_local
from workers.spark.sinks.delta.sink import DeltaSink
from workers.spark.sinks.iceberg.sink import IcebergSink
from workers.spark.sinks.parquet import ParquetSink
from workers.spark.sinks.postgres.sink import PostgresSink
from workers.spark.tables.table import Sink


@dataclass(frozen=True, slots=True)
class DeltaPlace:
    """See :class:`DeltaSink`: a folder (any path that Hadoop supports), a catalog, or both."""

    folder: str | None = None
    catalog: str | None = None
    drop_columns: bool = True
    threads: int = 4
    readers: str = "spark"


@dataclass(frozen=True, slots=True)
class IcebergPlace:
    """See :class:`IcebergSink`: a catalog and its settings; empty when the session has them."""

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
    """See :class:`PostgresSink`. ``schemas`` maps the source's schemas to the mirror's; others keep their names."""

    dsn: str
    schemas: Mapping[str, str] = field(default_factory=dict)
    mirror: str = ""
    drop_columns: bool = True
    threads: int = 4


SinkPlace = DeltaPlace | IcebergPlace | ParquetPlace | PostgresPlace


def jar_groups(place: SinkPlace) -> tuple[str, ...]:
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


def takes_arrow(place: SinkPlace, spark: SparkSession) -> bool:
    """Whether the place's sink uses the rows in Arrow that effects may have (:class:`workers.spark.tables.arrow_rows.ArrowRows`)."""
    return isinstance(place, DeltaPlace) and place.folder is not None and is_local(spark, place.folder)


def sink_of(place: SinkPlace, spark: SparkSession) -> Sink:
    """The sink of a place. Raises JobError when the place is incomplete."""
    match place:
        case DeltaPlace():
            drop = place.drop_columns
            return DeltaSink(spark, place.folder, place.catalog, drop_columns=drop, threads=place.threads, readers=place.readers)
        case IcebergPlace():
            return IcebergSink(spark, place.catalog, place.settings, drop_columns=place.drop_columns, threads=place.threads)
        case ParquetPlace():
            return ParquetSink(spark, place.folder, drop_columns=place.drop_columns, threads=place.threads)
        case PostgresPlace():
            return PostgresSink(
                spark, place.dsn, place.schemas, mirror=place.mirror, drop_columns=place.drop_columns, threads=place.threads
            )
