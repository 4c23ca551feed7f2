"""The bounds of a table's keys in the statistics of a file. They say which files a batch's rows cannot be in.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Per-file Statistics".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import DataType, IntegerType, LongType, ShortType, StringType, StructField, StructType

from workers.spark.sinks.delta.known_file import Bound, text_bound
from workers.spark.sinks.incoming import LONGEST_BOUND
from workers.spark.tables.table import Table, keys_of

_BOUNDED: Final = (ShortType, IntegerType, LongType, StringType)


@dataclass(frozen=True, slots=True)
class BoundedColumn:
    """A column of the key: its ``name`` in the files, and its type, whole numbers or texts. The statistics are those of the first one."""

    name: str
    of: DataType

    def bound(self, text: str) -> Bound:
        """A value's text as a bound."""
        return text_bound(text) if isinstance(self.of, StringType) else int(text)

    def bounds(self, values: pa.ChunkedArray) -> list[Bound]:
        """The values, of which none is null, as bounds."""
        known: list[Any] = values.to_pylist()
        return [text_bound(text) for text in known] if isinstance(self.of, StringType) else known

    def stats(self, ends: tuple[Bound, Bound] | None) -> Mapping[str, Any]:
        """The statistics of a file whose lowest and highest value are ``ends``; nothing without them, or if one is too long."""
        values = [] if ends is None else [value_of(end) for end in ends]
        if not values or any(len(str(value)) > LONGEST_BOUND for value in values):
            return {}
        named = zip(("minValues", "maxValues", "nullCount"), (*values, 0), strict=True)
        return {what: {self.name: value} for what, value in named} | {"tightBounds": True}

    def stats_of(self, keys: Sequence[str]) -> Mapping[str, Any]:
        """The statistics of a file that has the rows with these keys (:func:`workers.spark.tables.local_rows.key_text`)."""
        texts = [json.loads(key)[0] for key in keys]
        if not texts or None in texts:
            return {}
        bounds = [self.bound(text) for text in texts]
        return self.stats((min(bounds), max(bounds)))


def bounded_columns(there: StructType, table: Table) -> Sequence[BoundedColumn | None]:
    """The columns of the key of ``table``, whose files have the columns ``there``; None for those whose values cannot bound files. Pure."""
    fields = {one.name: one for one in there.fields}
    return [_bounded(fields[name]) for name in keys_of(table)]


def bounded_column(there: StructType, table: Table) -> BoundedColumn | None:
    """The first of :func:`bounded_columns`. Pure."""
    return bounded_columns(there, table)[0]


def value_of(bound: Bound) -> int | str:
    """The value of a bound."""
    return bound.decode(errors="surrogatepass") if isinstance(bound, bytes) else bound


def _bounded(field: StructField) -> BoundedColumn | None:
    if not isinstance(field.dataType, _BOUNDED):
        return None
    return BoundedColumn(str(field.metadata.get("delta.columnMapping.physicalName", field.name)), field.dataType)
