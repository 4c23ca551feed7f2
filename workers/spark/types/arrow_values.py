"""The counterparts of ``Kind.decode`` for columns of Arrow, which need no Spark.

Each returns exactly the values that Spark's functions compute in a session in UTC. It raises NotInArrow if it might not: if Spark refuses
one of the column's values, if a value has a form that Debezium does not write, and for some rare ones, such as years after 9999 in text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import wraps
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DecimalType

from workers.spark.types.kind import InArrow

_MICROS: Final = 1_000_000
_DAY: Final = 86_400 * _MICROS
_DATE: Final = r"\d{4}-\d\d-\d\d"
_CLOCK: Final = r"\d\d:\d\d:\d\d(\.\d{1,6})?"
_DECIMAL_BYTES: Final = 16
"""The bytes of Arrow's decimal128, and the most bytes of which Spark's expression makes a decimal."""
_LONG_BYTES: Final = 8
"""Java writes zero in one byte. Spark's expression reads it in at most eight."""
_MOST_PLACES: Final = 16_383
"""The most digits of a fraction in PostgreSQL's numeric."""


class NotInArrow(Exception):  # noqa: N818 - a condition, which the caller handles
    """Spark must decode the column: it has a value for which Arrow might give another result."""


def _sure(read: InArrow) -> InArrow:
    """``read``, which raises NotInArrow for the values that Arrow or Python refuses."""

    @wraps(read)
    def sure(raw: pa.Array) -> pa.Array:
        try:
            return read(raw)
        except (pa.ArrowException, ValueError) as error:
            raise NotInArrow from error

    return sure


def _every(facts: pa.Array) -> bool:
    """Whether no fact is false."""
    return bool(pc.all(facts, min_count=0).as_py())


def _with(found: pa.Array, raw: pa.Array, far: Mapping[int, int] | Mapping[str, int]) -> pa.Array:
    """``found`` with the number of ``far`` in each place in which ``raw`` is its name there."""
    for sent, number in far.items():
        storage = pa.int32() if pa.types.is_date32(found.type) else pa.int64()
        found = pc.if_else(pc.equal(raw, pa.scalar(sent, raw.type)), pa.scalar(number, storage).cast(found.type), found)
    return found


# --- dates and times as numbers


@_sure
def dates(raw: pa.Array) -> pa.Array:
    """Days since 1970 as dates."""
    return raw.view(pa.date32())


def _whole(raw: pa.Array, unit: int) -> pa.Array:
    """``raw``, in units of which ``unit`` are a second, in microseconds, rounded down."""
    finer = unit // _MICROS
    if finer <= 1:
        return raw if finer == 1 else pc.multiply_checked(raw, _MICROS // unit)
    near = pc.divide(raw, finer)
    down = pc.subtract(near, pc.less(raw, pc.multiply(near, finer)).cast(pa.int64()))
    # Spark multiplies too, and refuses the numbers for which that overflows.
    pc.multiply_checked(down, finer)
    return down


def moments(unit: int, far: Mapping[int, int]) -> InArrow:
    """Timestamps without time zone, of numbers of which ``unit`` are a second; ``far`` has those that mean other microseconds."""
    others = pa.array(list(far), pa.int64())

    @_sure
    def read(raw: pa.Array) -> pa.Array:
        near = pc.if_else(pc.is_in(raw, others), None, raw) if far else raw
        return _with(_whole(near, unit).view(pa.timestamp("us")), raw, far)

    return read


def clocks(unit: int) -> InArrow:
    """Times of day as text, of numbers of which ``unit`` are a second."""

    @_sure
    def read(raw: pa.Array) -> pa.Array:
        micros = _whole(raw, unit)
        if not _every(pc.greater_equal(micros, 0)):
            raise NotInArrow
        today = pc.less(micros, _DAY)
        text = pc.if_else(today, micros, 0).view(pa.time64("us")).cast(pa.string())
        short = pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")
        return short if _every(today) else pc.if_else(today, short, "24:00:00")

    return read


# --- dates and times as text


def _texts(form: str, near: pa.DataType, of: pa.DataType, far: Mapping[str, int]) -> InArrow:
    """Texts of a form that Arrow casts to ``near``, as ``of``; ``far`` has the texts of other values and their numbers."""
    others = pa.array(list(far), pa.string())

    @_sure
    def read(raw: pa.Array) -> pa.Array:
        usual, texts = pc.match_substring_regex(raw, form), raw
        some = not _every(usual)
        if some:
            known = pc.is_in(raw, others)
            if not _every(pc.or_(usual, known)):
                raise NotInArrow
            texts = pc.if_else(known, None, raw)
        found = pc.ascii_rtrim(texts, "Z").cast(near).view(of)
        return _with(found, raw, far) if some else found

    return read


def dates_of_text(far: Mapping[str, int]) -> InArrow:
    """Dates such as ``2020-02-29Z``."""
    return _texts(f"^{_DATE}Z?$", pa.date32(), pa.date32(), far)


def moments_of_text(far: Mapping[str, int]) -> InArrow:
    """Timestamps without time zone such as ``2020-02-29T10:11:12.123456Z``."""
    return _texts(f"^{_DATE}T{_CLOCK}Z?$", pa.timestamp("us"), pa.timestamp("us"), far)


def instants_of_text(far: Mapping[str, int]) -> InArrow:
    """Timestamps in UTC such as ``2020-02-29T10:11:12.123456Z``."""
    return _texts(f"^{_DATE}T{_CLOCK}Z$", pa.timestamp("us"), pa.timestamp("us", "UTC"), far)


@_sure
def clocks_of_text(raw: pa.Array) -> pa.Array:
    """Times of day without the ``Z`` at their end."""
    return pc.ascii_rtrim(raw, "Z")


# --- numbers of any length


def decimals(of: DecimalType) -> InArrow:
    """The integers in bytes (two's complement, big-endian) with the scale of ``of``; null if it cannot hold them."""

    @_sure
    def read(raw: pa.Array) -> pa.Array:
        kind = pa.decimal128(of.precision, of.scale)
        # Like Spark's expression, which gives null for more bytes even if the number is small.
        fits = pc.less_equal(pc.binary_length(raw), _DECIMAL_BYTES)
        octets = pc.fill_null(pc.if_else(fits, raw, None), b"")
        # Arrow pads only text, and does not look at the bytes that it pads.
        text = octets.view(pa.string())
        positive, negative = (pc.ascii_lpad(text, _DECIMAL_BYTES, padding=sign) for sign in (b"\0", b"\xff"))
        filled = pc.if_else(pc.greater_equal(octets, pa.scalar(b"\x80")), negative, positive)
        numbers = pc.binary_reverse(filled.view(pa.binary())).cast(pa.binary(_DECIMAL_BYTES)).view(kind)
        lowest, highest = (pa.scalar(Decimal((sign, (9,) * of.precision, -of.scale)), kind) for sign in (1, 0))
        inside = pc.and_(pc.greater_equal(numbers, lowest), pc.less_equal(numbers, highest))
        return pc.if_else(pc.and_(fits, inside), numbers, pa.scalar(None, kind))

    return read


def numbers(scale: int) -> InArrow:
    """The integers in bytes with this scale, as decimal text without trailing zeros of the fraction."""

    @_sure
    def read(raw: pa.Array) -> pa.Array:
        return _plain(raw.to_pylist(), [scale] * len(raw))

    return read


@_sure
def scaled_numbers(raw: pa.Array) -> pa.Array:
    """The same of a struct of ``scale`` and ``value``."""
    scales, values = raw.flatten()
    return _plain(values.to_pylist(), scales.to_pylist())


def _plain(values: Sequence[bytes | None], scales: Sequence[int | None]) -> pa.Array:
    return pa.array([None if value is None else _number(value, scale) for value, scale in zip(values, scales, strict=True)], pa.string())


def _number(value: bytes, scale: int | None) -> str:
    whole = int.from_bytes(value, "big", signed=True)
    if scale is None or abs(scale) > _MOST_PLACES or (not whole and len(value) > _LONG_BYTES):
        raise NotInArrow
    if scale <= 0 or not whole:
        return str(whole) + "0" * -scale if whole else "0"
    digits = str(abs(whole)).rjust(scale + 1, "0")
    sign, fraction = "-" if whole < 0 else "", digits[-scale:].rstrip("0")
    return f"{sign}{digits[:-scale]}.{fraction}" if fraction else sign + digits[:-scale]
