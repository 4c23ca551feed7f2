"""The cut records of a batch in the driver's memory, as columns of Arrow, and their survey."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from workers.spark.topics.survey import PARTITION, Group, Signs, in_order

_BY: Final = ("topic", "layout", "key_layout", "empty")
_FLAGS: Final = ("placeholders", "truncates", "begins", "moves")


class ArrowRecords:
    """Cut records (:mod:`workers.spark.topics.records`) whose values and keys are JSON. ``table`` has their columns.

    ``schema`` returns the schema that the records of a layout embedded, if it is known.
    """

    def __init__(self, table: pa.Table, schema: Callable[[int | None], str | None] = lambda _layout: None) -> None:
        self.schema: Final = schema
        self._table: Final = table.append_column("empty", pc.is_null(table["value"]))

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def groups(self, signs: Signs) -> Sequence[Group]:
        """The same groups as those of :meth:`workers.spark.topics.survey.Survey.groups`."""
        table, values = self._table, _Texts(self._table["value"])
        octets = [pc.fill_null(pc.binary_length(table[side]), 0) for side in ("value", "key")]
        found = {
            "octets": pc.add(*octets),
            "placeholders": reduce(pc.or_, map(values.have, [None] if signs.placeholder is None else signs.placeholder.values())),
            "truncates": pc.and_(pc.is_null(table["key"]), values.have(signs.truncate)),
            "begins": values.have(signs.begins),
            "moves": pc.or_(table["came"], table["left"]),
            "newest": table["timestamp"].cast(pa.int64()),
            "sample": pc.add(pc.multiply(table["partition"].cast(pa.int64()), PARTITION), table["offset"]),
        }
        wanted = [("octets", "sum"), ("octets", "count"), *((flag, "any") for flag in _FLAGS), ("newest", "max"), ("sample", "min")]
        rows = pa.table({**{name: table[name] for name in _BY}, **found}).group_by(_BY).aggregate(wanted).to_pylist()
        return in_order(
            Group(
                **{name: row[name] for name in _BY},
                records=row["octets_count"],
                octets=row["octets_sum"],
                newest_ms=row["newest_max"] // 1000,
                sample=divmod(row["sample_min"], PARTITION),
                **{flag: row[f"{flag}_any"] for flag in _FLAGS},
            )
            for row in rows
        )

    def of(self, group: Group) -> pa.Table:
        """The records of the group."""
        table, wanted = self._table, (group.topic, group.layout, group.key_layout, group.empty)
        mine = [pc.is_null(table[name]) if value is None else pc.equal(table[name], value) for name, value in zip(_BY, wanted, strict=True)]
        return table.filter(pc.and_(pc.and_(mine[0], mine[1]), pc.and_(mine[2], mine[3])))

    def sample(self, group: Group) -> Mapping[str, Any]:
        """The record that the group shows, with ``value_schema`` and ``key_schema``."""
        partition, offset = group.sample
        mine = self.of(group)
        (row,) = mine.filter(pc.and_(pc.equal(mine["partition"], partition), pc.equal(mine["offset"], offset))).to_pylist()
        return {**row, "value_schema": self.schema(group.layout), "key_schema": self.schema(group.key_layout)}


def arrow_records(cut: DataFrame) -> ArrowRecords:
    """The ``cut`` records, read by one job."""
    return ArrowRecords(cut.toArrow())


class _Texts:
    """A column of texts that is searched several times."""

    def __init__(self, texts: pa.ChunkedArray) -> None:
        self._texts: Final = texts
        self._memories: Final = [_memory(chunk) for chunk in texts.chunks]

    def have(self, part: str | None) -> pa.ChunkedArray:
        """Which texts have the part; without one, which are not null."""
        if part is None:
            return pc.is_valid(self._texts)
        # Most batches do not have it at all. In 55 MB Python finds this out in 20 ms.
        if not any(part.encode() in memory for memory in self._memories):
            return pa.chunked_array([pa.repeat(pa.scalar(False), len(self._texts))])
        return pc.fill_null(pc.match_substring(self._texts, part), False)


def _memory(texts: pa.Array) -> bytes:
    """The bytes of all texts, one after the other."""
    # Spark's settings decide of how many bits the places of texts are. This type has 64.
    wide = texts.cast(pa.large_string())
    _, ends, octets = wide.buffers()
    if octets is None or not len(wide):
        return b""
    places = memoryview(ends).cast("q")
    return bytes(octets[places[wide.offset] : places[wide.offset + len(wide)]])
