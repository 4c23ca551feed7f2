"""Computes the names of new rows of a table without a key in Python. They are those of :func:`workers.spark.effects.places.positioned`.

A record may be processed once in Python and, repeated, once by Spark. A repeated row is recognized by its name, so both must make the same
one. The hash in it is that of the row's text by Spark's ``to_json``. Only values whose text is known to be the same are written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_KINDS: Final = (BooleanType(), DateType(), IntegerType(), LongType(), ShortType(), StringType(), TimestampNTZType(), TimestampType())
"""The types whose values are written here, beside decimals. Java writes the digits of a float by rules that depend on its version."""
_SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.jsonGenerator.ignoreNullFields": "TRUE",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
}
"""All of Spark's settings on which the text by ``to_json`` depends, with the values that are supported."""
_PLAIN: Final = (pa.bool_(), pa.int16(), pa.int32(), pa.int64())
_MOMENTS: Final = {pa.timestamp("us"): "", pa.timestamp("us", "UTC"): "Z"}
"""The types of timestamps, and what follows the time."""
_COMMON: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES: Final[Mapping[str, Mapping[str, str]]] = {
    # The backslash is first, because the other escapes have backslashes.
    r'["\\]': {"\\": "\\\\", '"': '\\"'},
    r"[\x08-\x0a\x0c\x0d]": _COMMON,
    # Hexadecimal digits are in upper case.
    r"[\x00-\x07\x0b\x0e-\x1f]": {chr(code): f"\\u{code:04X}" for code in range(0x20) if chr(code) not in _COMMON},
}
"""All characters that Jackson's generator escapes by default, with their escapes, by a pattern that finds them.

To replace one character in 5 MB of text takes 2.4 ms, also if it is not there.
"""
_ESCAPED: Final = str.maketrans({character: escape for escapes in _ESCAPES.values() for character, escape in escapes.items()})
_DAYS: Final = (-719_162, 2_932_896)
"""0001-01-01 and 9999-12-31, in days since 1970. Other years do not have four digits."""
_DAY: Final = 86_400_000_000
_MICROS: Final = (_DAYS[0] * _DAY, (_DAYS[1] + 1) * _DAY - 1)
_SEED: Final = 42
"""The seed of Spark's ``xxhash64``."""
_BITS: Final = 2**64 - 1


class NotNamed(Exception):  # noqa: N818 - a condition, which the caller handles
    """A value may have another text in Spark."""


def nameable(row: StructType) -> bool:
    """Whether :func:`names` can name rows with these columns, except for a few values. Pure."""
    kinds = [field.dataType for field in row.fields]
    return bool(kinds) and all(kind in _KINDS or (isinstance(kind, DecimalType) and kind.scale >= 0) for kind in kinds)


def same_settings(session: SparkSession) -> bool:
    """Whether ``to_json`` in this session makes the same texts. It does not if the user has changed a setting that it depends on."""
    return all(str(session.conf.get(name)).upper() == value for name, value in _SETTINGS.items())


def names(
    rows: pa.Table,
    op: Sequence[str],
    lsn: Sequence[int | None],
    tx: Sequence[int | None],
    partition: Sequence[int],
    offset: Sequence[int],
    total_order: Sequence[int | None],
) -> pa.Array:
    """The names of rows of which no two have the same LSN, transaction and ``total_order``. Raises NotNamed.

    ``rows`` has the columns of the table's row, in their order. The other arguments describe the record of each row.
    """
    streamed = [one == "c" and commit is not None for one, commit in zip(op, lsn, strict=True)]
    wanted = [at for at, (new, order) in enumerate(zip(streamed, total_order, strict=True)) if new and order is None]
    hashed = _hashes(rows if len(wanted) == len(rows) else rows.take(pa.array(wanted, pa.int64())))
    hashes = dict(zip(wanted, hashed, strict=True))
    found = []
    events = zip(streamed, lsn, tx, partition, offset, total_order, strict=True)
    for row, (new, commit, change, place, at, order) in enumerate(events):
        begin = "" if commit is None else f"{commit & _BITS:016X}"
        if not new:
            found.append(f"{begin}/r/{place}/{_filled(at, 19)}")
        else:
            end = f"{hashes[row]}/1" if order is None else _filled(order, 12)
            found.append(f"{begin}/{end}" if change is None else f"{begin}/{change}/{end}")
    return pa.array(found, pa.string())


def _filled(number: int, length: int) -> str:
    """Spark's ``lpad`` with zeros, which cuts a longer text."""
    return str(number).rjust(length, "0")[:length]


def _hashes(rows: pa.Table) -> list[str]:
    if not len(rows):
        return []
    try:
        # Arrow's functions do not check texts, and Spark replaces what is not UTF-8.
        rows.validate(full=True)
        fields = [_field(name, column) for name, column in zip(rows.column_names, rows.columns, strict=True)]
        # As in Spark, a null is left out. With null_handling="skip" Arrow would leave out a row in which all values are null.
        texts = pc.binary_join_element_wise(*fields, "", null_handling="replace", null_replacement="").to_pylist()
    except pa.ArrowException as error:
        raise NotNamed from error
    return [f"{xxhash.xxh64_intdigest(f'{{{text[1:]}}}'.encode(), _SEED):X}" for text in texts]


def _field(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column's part of the texts, such as ``,"id":1``; null if the value is null."""
    begin = f',"{name.translate(_ESCAPED)}":'
    kind = column.type
    if kind in _PLAIN or (pa.types.is_decimal128(kind) and kind.scale >= 0):
        return _joined(begin, column.cast(pa.string()), "")
    if kind == pa.string():
        return _joined(f'{begin}"', _escaped(column), '"')
    if kind == pa.date32():
        _check(column.cast(pa.int32()), _DAYS)
        return _joined(f'{begin}"', column.cast(pa.string()), '"')
    if kind in _MOMENTS:
        micros = column.cast(pa.int64())
        _check(micros, _MICROS)
        text = micros.cast(pa.timestamp("us")).cast(pa.string())
        day, time = pc.utf8_slice_codeunits(text, 0, 10), pc.utf8_slice_codeunits(text, 11, 23)
        return _joined(f'{begin}"', pc.binary_join_element_wise(day, time, "T"), f'{_MOMENTS[kind]}"')
    raise NotNamed


def _joined(*parts: Any) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(*parts, "")


def _escaped(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    for pattern, escapes in _ESCAPES.items():
        if pc.any(pc.match_substring_regex(texts, pattern)).as_py():
            for character, escape in escapes.items():
                texts = pc.replace_substring(texts, character, escape)
    return texts


def _check(numbers: pa.ChunkedArray, bounds: tuple[int, int]) -> None:
    least, most = pc.min_max(numbers).as_py().values()
    if least is not None and not bounds[0] <= least <= most <= bounds[1]:
        raise NotNamed
