"""The statistics of a file's rows, by which readers leave out files. Pure.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Per-file Statistics". Of numbers with a fraction, bytes, long texts and
times that are far away there are no bounds: readers might take them for others than they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from workers.spark.sinks.incoming import LONGEST_BOUND

_DAYS: Final = range(date(1, 1, 1).toordinal(), date(9999, 12, 31).toordinal())
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a column's type says whether its times have a zone
_FIRST_DAY: Final = _EPOCH.toordinal()


def stats_of(rows: pa.Table) -> Mapping[str, Any]:
    """How many rows and nulls there are, and the bounds of each column, by the names that the columns have in the file."""
    named = dict(zip(rows.column_names, rows.columns, strict=True))
    ends = {name: found for name, column in named.items() if (found := _ends(column)) is not None}
    return {
        "numRecords": rows.num_rows,
        "minValues": {name: low for name, (low, _) in ends.items()},
        "maxValues": {name: high for name, (_, high) in ends.items()},
        "nullCount": {name: column.null_count for name, column in named.items()},
        "tightBounds": True,
    }


def _ends(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """The lowest and the highest value, as JSON has them."""
    of = column.type
    if column.null_count == len(column):
        return None
    if pa.types.is_date32(of):
        low, high = (day + _FIRST_DAY for day in _between(column.cast(pa.int32())))
        return (_day(low), _day(high)) if low in _DAYS and high in _DAYS else None
    if pa.types.is_timestamp(of):
        # The statistics have milliseconds.
        low, high = (-(-micros // 1000) if up else micros // 1000 for up, micros in enumerate(_between(column.cast(pa.int64()))))
        inside = all(_FIRST_DAY + at // 86_400_000 in _DAYS for at in (low, high))
        return (_moment(low, of), _moment(high, of)) if inside else None
    if pa.types.is_string(of):
        low, high = _between(column)
        return (low, high) if max(len(low), len(high)) <= LONGEST_BOUND else None
    return _between(column) if pa.types.is_integer(of) else None


def _between(values: pa.ChunkedArray) -> tuple[Any, Any]:
    found = pc.min_max(values)
    return found["min"].as_py(), found["max"].as_py()


def _day(number: int) -> str:
    return date.fromordinal(number).isoformat()


def _moment(millis: int, of: pa.DataType) -> str:
    text = (_EPOCH + timedelta(milliseconds=millis)).isoformat(timespec="milliseconds")
    return text if of.tz is None else f"{text}Z"
