"""Writes and reads Parquet files of a Delta table with Arrow, without Java. It knows neither Spark's session nor Delta's log.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Column Mapping" and "Add File and Remove File".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from workers.spark.sinks.delta.arrow_stats import stats_of
from workers.spark.sinks.new_file import created

_SCALARS: Final = (
    BooleanType(),
    ShortType(),
    IntegerType(),
    LongType(),
    FloatType(),
    DoubleType(),
    # That of another collation is not equal to it.
    StringType(),
    BinaryType(),
    DateType(),
    TimestampType(),
    TimestampNTZType(),
)
"""The types of columns, besides decimal numbers, that Arrow writes as Spark does."""
_VERSION: Final = "org.apache.spark.version"
"""Spark takes dates before 1582 for those of the Julian calendar if a file does not name the version that wrote it."""
_JULIAN: Final = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Files that name one of these have dates of the Julian calendar."""
_WIDER: Final = {
    pa.int8(): (pa.int16(), pa.int32(), pa.int64(), pa.float64()),
    pa.int16(): (pa.int32(), pa.int64(), pa.float64()),
    pa.int32(): (pa.int64(), pa.float64()),
    pa.float32(): (pa.float64(),),
}
"""Type of a file's column → the types to which the table's column may have been widened, besides decimal ones."""
_ZONED: Final = pa.timestamp("us", tz="UTC")
_DICTIONARY: Final = 256 * 1024
"""Columns whose values are all different are larger with a dictionary. With Arrow's limit of 1 MiB a file had 8 % more bytes."""
_DAY: Final = 86_400_000_000
"""Microseconds, as all of these."""
_EPOCH: Final = 2_440_588 * _DAY
"""From the first of the days that are counted in the type INT96 to 1970."""
_DAYS, _NANOS = 2**32 * _DAY, 2**64 // 1000
"""What an unsigned number of 32 bits, of days, and one of 64 bits, of nanoseconds, is above the signed one with the same bits."""
_LAST: Final = 2**63 // 1000
"""Spark's last time, in milliseconds."""


def arrow_schema(there: StructType) -> pa.Schema | None:
    """The schema of the files of a table with the columns ``there``, which are as its metadata has them. Pure.

    None if a column cannot be null, which Arrow would not check, or has another type than those that Arrow writes as Spark does.
    """
    if not all(field.nullable and _is_scalar(field) for field in there.fields):
        return None
    return pa.schema([_field(field) for field in there.fields])


class ArrowFiles:
    """The files with ``schema`` of the table in ``folder``, for Spark's readers of ``version`` and others."""

    def __init__(self, folder: Path, schema: pa.Schema, version: str) -> None:
        self._folder: Final = folder
        self.schema: Final = schema
        self._version: Final = version

    def write(self, rows: pa.Table) -> str:
        """Write the rows as one file. Returns Delta's ``add`` as JSON, with the rows' statistics.

        The rows' columns are in the order of the schema, whatever their names are. Raises ArrowException or ValueError if they do not
        fit it, and OSError if the file cannot be written. As with Delta's own writer, ``VACUUM`` removes a file that no commit names.
        """
        if rows.num_columns != len(self.schema):
            raise ValueError("rows have another number of columns")
        fitting = pa.table([values.cast(field.type) for values, field in zip(rows.columns, self.schema, strict=True)], schema=self.schema)
        path = self._folder / f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
        with created(path, unique=True) as file, self._writer(file) as writer:
            writer.add_key_value_metadata({_VERSION: self._version})
            writer.write_table(fitting)
        state = path.stat()
        add = {
            "path": path.name,
            "partitionValues": {},
            "size": state.st_size,
            "modificationTime": state.st_mtime_ns // 1_000_000,
            "dataChange": True,
            "stats": json.dumps(stats_of(fitting)),
        }
        return json.dumps({"add": add})

    def read(self, add_path: str, marked: BitMap64) -> pa.Table:
        """The rows of the table's file with this path in Delta's log, without ``marked``, in the columns of the schema.

        Columns that the file lacks are null, and numbers that are narrower than the table's are cast. Raises ValueError, ArrowException
        or OSError if the file is not as expected.
        """
        if urlsplit(add_path).scheme or add_path.startswith("/"):
            raise ValueError("file is not in the table's folder")
        path = self._folder / unquote(add_path)
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            about, names, physical = file.metadata.metadata or {}, file.schema_arrow.names, _physical(file)
            if any(key in about for key in _JULIAN):
                raise ValueError("file has dates of the Julian calendar")
            if len({*names}) < len(names):
                raise ValueError("file has two columns of one name")
            there = file.read(columns=[name for name in self.schema.names if name in physical])
            count = int(file.metadata.num_rows)
        times = [field for field in self.schema if physical.get(field.name) == "INT96"]
        if any(field.type != _ZONED for field in times):
            raise ValueError("file has another type")
        known = _int96_times(path, there, [field.name for field in times]) if times else {}

        def column(field: pa.Field) -> pa.ChunkedArray:
            if field.name not in physical:
                return pa.nulls(count, field.type)
            return known[field.name] if field.name in known else _as_wide(there.column(field.name), field.type)

        columns = [column(field) for field in self.schema]
        return _without(pa.table(columns, schema=self.schema), marked)

    def _writer(self, file: Any) -> Any:
        # Arrow's bounds leave out NaN, which is Spark's greatest number: Spark would miss the rows with it.
        bounded = [field.name for field in self.schema if not pa.types.is_floating(field.type)]
        return pq.ParquetWriter(
            file,
            self.schema,
            version="2.6",
            compression="snappy",
            write_statistics=bounded,
            store_schema=False,
            store_decimal_as_integer=True,
            dictionary_pagesize_limit=_DICTIONARY,
        )


def _is_scalar(field: StructField) -> bool:
    return isinstance(field.dataType, DecimalType) or field.dataType in _SCALARS


def _field(field: StructField) -> pa.Field:
    number = field.metadata.get("delta.columnMapping.id")
    return pa.field(
        str(field.metadata.get("delta.columnMapping.physicalName", field.name)),
        to_arrow_type(field.dataType, timestamp_utc=True),
        metadata=None if number is None else {"PARQUET:field_id": str(number)},
    )


def _physical(file: pq.ParquetFile) -> Mapping[str, str]:
    """The names of the file's columns that are no structs, and their types in Parquet."""
    columns = [file.metadata.schema.column(at) for at in range(file.metadata.num_columns)]
    top = {*file.schema_arrow.names}
    return {column.path: column.physical_type for column in columns if column.path in top}


def _as_wide(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The values as ``kind``, which may be wider than that of a file that is older than a widening of the column's type."""
    there = values.type
    if there == kind:
        return values
    decimal = pa.types.is_decimal(kind) and (pa.types.is_signed_integer(there) or pa.types.is_decimal(there))
    if not decimal and kind not in _WIDER.get(there, ()):
        raise ValueError("file has another type")
    return values.cast(kind)


def _int96_times(path: Path, read: pa.Table, names: Sequence[str]) -> Mapping[str, pa.ChunkedArray]:
    """The times of these columns, which have the type that Spark writes by default. Raises ValueError if one of them is ambiguous.

    A value has the days since 4713 BC and nanoseconds. For earlier times Spark writes negative numbers, and also for PostgreSQL's
    ``infinity``, where its 64 bits overflow. Arrow reads both as unsigned. In milliseconds such days give a time after :data:`_LAST`, from
    which they are known. The nanoseconds are then negative too, except at the beginning of a day. Arrow reads each time of day 0 as the
    beginning of 1970.
    """
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="ms") as file:
        coarse = file.read(columns=[*names])
    found = {}
    for name in names:
        micros, millis = (rows.column(name).cast(pa.int64()) for rows in (read, coarse))
        negative = pc.greater(millis, _LAST)
        # These functions keep 64 bits of a result that is longer, as Spark does.
        since = pc.add(micros, _signed(_EPOCH - _DAYS))
        whole = pc.equal(pc.multiply(pc.divide(since, _DAY), _DAY), since)
        if pc.any(pc.if_else(negative, whole, pc.equal(micros, 0))).as_py():
            raise ValueError("file has times that Arrow cannot read")
        found[name] = pc.if_else(negative, pc.subtract(micros, _signed(_DAYS + _NANOS)), micros).cast(_ZONED)
    return found


def _signed(number: int) -> int:
    """The number as Java keeps it in 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


def _without(rows: pa.Table, marked: BitMap64) -> pa.Table:
    if not marked:
        return rows
    if marked.max() >= rows.num_rows:
        raise ValueError("deletion vector is of another file")
    kept = bytearray(b"\x01") * rows.num_rows
    for row in marked:
        kept[row] = 0
    mask = pa.Array.from_buffers(pa.uint8(), rows.num_rows, [None, pa.py_buffer(kept)])
    return rows.filter(mask.cast(pa.bool_()))
