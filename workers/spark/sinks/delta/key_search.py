"""Looks for keys in Parquet files on the local file system, with Arrow. It knows neither Spark nor Delta's log."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.types import StringType

from workers.spark.sinks.delta.key_bounds import BoundedColumn
from workers.spark.sinks.delta.known_file import Bound

_PLACE: Final = "place"
_BATCH: Final = 256 * 1024
"""So many rows of a file are in memory at once, with their key only."""
_UNREADABLE: Final = "\ufffd"
"""Java shows bytes that are no UTF-8 as this letter. Another text may have been there."""


class RowGroup(NamedTuple):
    """A part of a Parquet file that may have some of the keys: its number, the place of its first row, and what reading it costs."""

    number: int
    first: int
    rows: int
    octets: int


class FoundGroups(NamedTuple):
    """The parts of a file that may have some of the keys, and the file's own description of itself."""

    metadata: Any
    groups: Sequence[RowGroup]


class KeySearch:
    """The search for ``keys``, of which none has a null. ``ordered`` are the values of their first column as bounds, in order.

    The columns of ``keys`` are those of ``columns``: texts and whole numbers.
    """

    def __init__(self, columns: Sequence[BoundedColumn], keys: pa.Table, ordered: Sequence[Bound]) -> None:
        self._names: Final = [column.name for column in columns]
        self._ordered: Final = ordered
        self._kinds: Final = [_kind_of(column) for column in columns]
        self._keys: Final = pa.table(
            [column.cast(kind) for column, kind in zip(keys.columns, self._kinds, strict=True)], names=self._numbered
        )

    def groups(self, path: Path) -> FoundGroups:
        """The parts of the Parquet file that may have some of the keys, as its statistics show.

        Raises ValueError, OSError or ArrowException if the file is not as expected; so do the other functions.
        """
        metadata = pq.read_metadata(path)
        places = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
        if not places.keys() >= set(self._names):
            raise ValueError("file lacks a column of the key")
        columns, groups, first = [places[name] for name in self._names], [], 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            if self._may_be_in(group.column(columns[0]).statistics):
                octets = sum(group.column(at).total_uncompressed_size for at in columns)
                groups.append(RowGroup(number, first, group.num_rows, octets))
            first += group.num_rows
        return FoundGroups(metadata, groups)

    def rows(self, path: Path, found: FoundGroups) -> Iterator[int]:
        """The places in the file of the rows that have one of the keys."""
        with pq.ParquetFile(path, metadata=found.metadata) as file:
            for group in found.groups:
                first = group.first
                for batch in file.iter_batches(_BATCH, row_groups=[group.number], columns=self._names):
                    yield from (first + place for place in self.places(batch))
                    first += batch.num_rows

    def places(self, rows: pa.RecordBatch) -> list[int]:
        """The places of the rows that have one of the keys. They have only the columns of the key, in any order."""
        if sorted(rows.schema.names) != sorted(self._names):
            raise ValueError("file has other columns")
        columns = [_plain(rows.column(name), kind) for name, kind in zip(self._names, self._kinds, strict=True)]
        # No key has a null, so a null is in no set, and equal to nothing below.
        some = pc.indices_nonzero(pc.is_in(columns[0], value_set=self._keys["0"]))
        if len(columns) == 1 or not len(some):
            return list(some.to_pylist())
        left = pa.table([*(column.take(some) for column in columns), some], names=[*self._numbered, _PLACE])
        return list(left.join(self._keys, self._numbered, join_type="left semi", use_threads=False)[_PLACE].to_pylist())

    @property
    def _numbered(self) -> list[str]:
        return [str(at) for at in range(len(self._names))]

    def _may_be_in(self, statistics: Any) -> bool:
        """Whether rows with these statistics of the key's first column may have one of the keys."""
        if statistics is None or not statistics.has_min_max:
            return True
        return bisect_left(self._ordered, statistics.min_raw) < bisect_right(self._ordered, statistics.max_raw)


def keys_of_texts(columns: Sequence[BoundedColumn], keys: Sequence[Sequence[str]]) -> pa.Table:
    """Keys for :class:`KeySearch`, from the texts of their values as Spark writes them.

    Raises UnicodeError if a value cannot be known from its text.
    """
    values = [
        pa.array([_known(text) for text in texts] if kind == pa.string() else [int(text) for text in texts], kind)
        for texts, kind in zip(zip(*keys, strict=True), map(_kind_of, columns), strict=True)
    ]
    return pa.table(values, names=[column.name for column in columns])


def _kind_of(column: BoundedColumn) -> pa.DataType:
    return pa.string() if isinstance(column.of, StringType) else pa.int64()


def _known(text: str) -> str:
    if _UNREADABLE in text:
        raise UnicodeError("text may stand for another one")
    return text


def _plain(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values as ``kind``. Numbers of a file that is older than a widening of the column's type are narrower than it."""
    if values.type == kind:
        return values
    if kind != pa.int64() or values.type not in {pa.int16(), pa.int32()}:
        raise ValueError("file has another type")
    return values.cast(kind)
