"""Dates, times and intervals in every ``time.precision.mode`` and ``interval.handling.mode``.

Infinity is the value that Debezium sends for it, the JDBC driver's extreme dates, in every unit. Its text is PostgreSQL's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    DateType,
    DayTimeIntervalType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from workers.spark.types.arrow_values import clocks, clocks_of_text, dates, dates_of_text, instants_of_text, moments, moments_of_text
from workers.spark.types.binding import let
from workers.spark.types.digits import plain
from workers.spark.types.kind import Builder, Expression, Kind, Rich, fixed

MICROS: Final = 1_000_000
DAY_MICROS: Final = 86_400 * MICROS
INFINITE_MICROS: Final = {9223372036825200000: "infinity", -9223372036832400000: "-infinity"}
"""Debezium's values of infinite timestamps."""
INFINITE_NANOS: Final = {2**63 - 1: max(INFINITE_MICROS), -(2**63): min(INFINITE_MICROS)}
"""Debezium's values in nanoseconds, which cannot hold the driver's dates → the values here."""
INFINITE_DAYS: Final = {-2147472692: "infinity", -2147472691: "-infinity"}
"""Debezium's values of infinite dates."""
_ELEMENT_DAYS: Final = {-622191234: -2147472692, -625821272: -2147472691}
"""Debezium's values of infinite dates in arrays → the values here. PostgreSQL's first date, 4713 BC, is later than these."""
_FAR_ISO_DATES: Final = {"+292278994-08-16": -2147472692, "+292269055-12-02": -2147472691}
"""Infinite dates in arrays as text → the values here. Spark's dates cannot hold these years."""
_INFINITE_ISO_DATES: Final = {"-5877611-06-21Z": -2147472692, "-5877611-06-22Z": -2147472691}
_INFINITE_ISO_TIMESTAMPS: Final = {"+294247-01-10T04:00:25.2Z": max(INFINITE_MICROS), "-290308-12-21T19:59:27.6Z": min(INFINITE_MICROS)}
"""Debezium's values of infinite dates and timestamps as text → the values here. Arrow does not read these years."""

_ZERO: Final = "timestamp_ntz'1970-01-01 00:00:00'"
_MICROSECOND: Final = "interval '0 00:00:00.000001' day to second"
_DAY_TIME: Final = DayTimeIntervalType(0, 3)
_YEAR_MONTH: Final = YearMonthIntervalType(0, 1)


def ad(text: Column) -> Column:
    """PostgreSQL's ``0044-03-15 … BC`` with an astronomical year, ``-0043-03-15 …``, as Spark reads it."""

    def before(text: Column) -> Column:
        year = F.regexp_extract(text, r"^(\d+)", 1).try_cast("int") - 1
        return F.concat(F.lit("-"), F.lpad(year.cast("string"), 4, "0"), F.regexp_extract(text, r"^\d+(.*) BC$", 1))

    return let(text, lambda once: F.when(once.endswith(" BC"), before(once)).otherwise(once))


def _named(value: Column, names: Mapping[int, str], of: Expression) -> Column:
    """The value's text, or the name of an infinite value."""

    def shown(value: Column) -> Column:
        text = value.cast("string")
        for number, name in names.items():
            text = F.when(value == of(F.lit(number)), F.lit(name)).otherwise(text)
        return text

    return let(value, shown)


def _interval(micros: Column) -> Column:
    return F.expr(_MICROSECOND) * micros


def _moment(micros: Column) -> Column:
    """The timestamp without time zone, computed from the epoch. A cast from an instant would depend on the session's time zone."""
    return F.expr(_ZERO) + _interval(micros)


def _whole(raw: Column, unit: int) -> Column:
    """``raw``, in units of which ``unit`` are a second, in microseconds. As in Debezium it is rounded down."""
    finer = unit // MICROS
    return F.call_function("div", raw - F.pmod(raw, F.lit(finer)), F.lit(finer)) if finer > 1 else raw * F.lit(MICROS // unit)


# --- dates


def _day(days: Column) -> Column:
    return F.date_from_unix_date(days.cast("int"))


def _date_text(value: Column) -> Column:
    return _named(value, INFINITE_DAYS, _day)


def _read_date(text: Column) -> Column:
    return ad(text).try_cast("date")


def _iso_date(raw: Column) -> Column:
    day = F.rtrim(raw, F.lit("Z"))
    value = day.try_cast("date")
    for far, days in _FAR_ISO_DATES.items():
        value = F.when(day == far, _day(F.lit(days))).otherwise(value)
    return value


def _element_date(raw: Column) -> Column:
    days = raw
    for element, column in _ELEMENT_DAYS.items():
        days = F.when(raw == element, F.lit(column)).otherwise(days)
    return F.date_from_unix_date(days)


_DATE: Final = Kind(IntegerType(), DateType(), F.date_from_unix_date, _date_text, _read_date, arrow=dates)
_ELEMENT_DATE: Final = Kind(IntegerType(), DateType(), _element_date, _date_text, _read_date)
_ISO_DATE: Final = Kind(StringType(), DateType(), _iso_date, _date_text, _read_date, arrow=dates_of_text(_INFINITE_ISO_DATES))

# --- timestamps


def _moment_text(value: Column) -> Column:
    return _named(value, INFINITE_MICROS, _moment)


def _read_moment(text: Column) -> Column:
    return ad(text).try_cast("timestamp_ntz")


def _timestamp(unit: int) -> Kind:
    """``unit`` is the number of the value's units in a second. As in Debezium finer digits of the source are dropped."""

    def decode(raw: Column) -> Column:
        value = _moment(_whole(raw, unit))
        for number, micros in INFINITE_NANOS.items() if unit > MICROS else ():
            value = F.when(raw == F.lit(number), _moment(F.lit(micros))).otherwise(value)
        return value

    def read(text: Column) -> Column:
        value = _read_moment(text)
        return value if unit >= MICROS else F.date_trunc("MILLISECOND", value).cast("timestamp_ntz")

    far = INFINITE_NANOS if unit > MICROS else {}
    return Kind(LongType(), TimestampNTZType(), decode, _moment_text, read, arrow=moments(unit, far))


_ISO_TIMESTAMP: Final = Kind(
    StringType(),
    TimestampNTZType(),
    lambda raw: F.rtrim(raw, F.lit("Z")).try_cast("timestamp_ntz"),
    _moment_text,
    _read_moment,
    arrow=moments_of_text(_INFINITE_ISO_TIMESTAMPS),
)


def _zoned(raw: Column) -> Column:
    far = F.when(raw == "infinity", F.lit(max(INFINITE_MICROS))).otherwise(F.lit(min(INFINITE_MICROS)))
    return F.when(raw.endswith("y"), F.timestamp_micros(far)).otherwise(raw.try_cast("timestamp"))


_ZONED_TIMESTAMP: Final = Kind(
    StringType(),
    TimestampType(),
    _zoned,
    lambda value: _named(value, INFINITE_MICROS, F.timestamp_micros),
    lambda text: ad(text).try_cast("timestamp"),
    sql="({c} at time zone 'UTC')::text",
    arrow=instants_of_text({name: micros for micros, name in INFINITE_MICROS.items()}),
)

# --- times of day: text as PostgreSQL prints it, because Spark's TIME ends before 24:00:00


def _clock_interval(text: Column) -> Column:
    """``HH:MM:SS.ffffff`` as an interval; 24:00:00 is a day."""
    hours, minutes = text.substr(1, 2).try_cast("int"), text.substr(4, 2).try_cast("int")
    return F.make_dt_interval(F.lit(0), hours, minutes, F.substr(text, F.lit(7)).try_cast("decimal(18,6)")).cast(_DAY_TIME)


_RICH_CLOCK: Final = Rich(_DAY_TIME, _clock_interval)


def _cut(text: Column, places: int) -> Column:
    """A clock's text with at most ``places`` digits of its fraction."""
    cut = F.regexp_replace(text, rf"(\.\d{{{places}}})\d+" if places else r"\.\d+", "$1" if places else "")
    return plain(cut) if places else cut


def _time(unit: int, *, element: bool = False) -> Kind:
    """A time of day. ``unit`` is the number of its units in a second. In arrays Debezium truncates it to milliseconds within one day."""
    places = 3 if element else min(len(str(unit)) - 1, 6)

    def decode(raw: Column) -> Column:
        micros = _whole(raw, unit)
        clock = F.substr(_moment(micros).cast("string"), F.lit(12))
        return F.when(micros >= DAY_MICROS, F.lit("24:00:00")).otherwise(clock)

    def read(text: Column) -> Column:
        cut = _cut(text, places)
        return F.when(text == "24:00:00", F.lit("00:00:00")).otherwise(cut) if element else cut

    return Kind(LongType(), StringType(), decode, read=read, rich=_RICH_CLOCK, arrow=clocks(unit))


def _iso_time(*, element: bool = False) -> Kind:
    def read(text: Column) -> Column:
        # java.time has no 24:00.
        clock = _cut(text, 3) if element else text
        return F.when(text == "24:00:00", F.lit("00:00:00")).otherwise(clock)

    return Kind(StringType(), StringType(), lambda raw: F.rtrim(raw, F.lit("Z")), read=read, rich=_RICH_CLOCK, arrow=clocks_of_text)


def _zoned_time(*, element: bool = False) -> Kind:
    """Time of day in UTC, ``11:51:02.123789Z``. In arrays Debezium truncates it to seconds."""

    def read(text: Column) -> Column:
        utc = F.regexp_replace(F.regexp_replace(text, r"\+00$", "Z"), "^24:", "00:")
        return _cut(utc, 0) if element else utc

    return Kind(StringType(), StringType(), read=read, sql="({c} at time zone 'UTC')::text")


# --- intervals

_DURATION: Final = Kind(
    LongType(),
    LongType(),
    read=lambda text: text.try_cast("bigint"),
    # Debezium counts a month as 365.25 / 12 days and uses floating point, so 1.005 s is 1004999 µs. Then it casts as Java does.
    sql="(select case when x >= 9223372036854775807 then '9223372036854775807'"
    " when x < -9223372036854775808 then '-9223372036854775808' else trunc(x)::bigint::text end from (select (((("
    "(extract(year from {c})::float8 * 12 + extract(month from {c})::float8) * (365.25::float8 / 12) + extract(day from {c})::float8)"
    " * 24 + extract(hour from {c})::float8) * 60 + extract(minute from {c})::float8) * 60 + extract(second from {c})::float8)"
    " * 1e6::float8 as x) v)",
    rich=Rich(_DAY_TIME, _interval),
)

_PARTS: Final = r"^P(-?\d+)Y(-?\d+)M(-?\d+)DT(-?\d+)H(-?\d+)M(-?[\d.]+)S$"
_MONTHS_AND_TIME: Final = StructType([StructField("months", _YEAR_MONTH), StructField("time", _DAY_TIME)])


def _parts(text: Column) -> Column:
    def part(at: int) -> Column:
        return F.regexp_extract(text, _PARTS, at).try_cast("decimal(28,6)")

    months = (part(1) * 12 + part(2)).try_cast("int")
    seconds = ((part(3) * 24 + part(4)) * 60 + part(5)) * 60 + part(6)
    time = _interval((seconds.try_cast("decimal(28,6)") * MICROS).try_cast("bigint"))
    return F.when(
        text.isNotNull(),
        F.struct(F.make_ym_interval(F.lit(0), months).cast(_YEAR_MONTH).alias("months"), time.cast(_DAY_TIME).alias("time")),
    )


_INTERVAL: Final = Kind(
    StringType(),
    StringType(),
    sql="case when {c} is not null then format('P%sY%sM%sDT%sH%sM%sS',"
    " extract(year from {c}), extract(month from {c}), extract(day from {c}),"
    " extract(hour from {c}), extract(minute from {c}), trim_scale(extract(second from {c})::numeric)) end",
    rich=Rich(_MONTHS_AND_TIME, _parts),
)

NAMED: Final[dict[str, Builder]] = {
    "org.apache.kafka.connect.data.Date": fixed(_DATE),
    "io.debezium.time.Date": fixed(_DATE),
    "io.debezium.time.IsoDate": fixed(_ISO_DATE),
    "org.apache.kafka.connect.data.Time": fixed(_time(1000)),
    "io.debezium.time.Time": fixed(_time(1000)),
    "io.debezium.time.MicroTime": fixed(_time(MICROS)),
    "io.debezium.time.NanoTime": fixed(_time(1000 * MICROS)),
    "io.debezium.time.IsoTime": fixed(_iso_time()),
    "org.apache.kafka.connect.data.Timestamp": fixed(_timestamp(1000)),
    "io.debezium.time.Timestamp": fixed(_timestamp(1000)),
    "io.debezium.time.MicroTimestamp": fixed(_timestamp(MICROS)),
    "io.debezium.time.NanoTimestamp": fixed(_timestamp(1000 * MICROS)),
    "io.debezium.time.IsoTimestamp": fixed(_ISO_TIMESTAMP),
    "io.debezium.time.ZonedTimestamp": fixed(_ZONED_TIMESTAMP),
    "io.debezium.time.ZonedTime": fixed(_zoned_time()),
    "io.debezium.time.MicroDuration": fixed(_DURATION),
    "io.debezium.time.Interval": fixed(_INTERVAL),
}
ELEMENTS: Final[dict[str, Builder]] = {
    "org.apache.kafka.connect.data.Date": fixed(_ELEMENT_DATE),
    "io.debezium.time.Date": fixed(_ELEMENT_DATE),
    "org.apache.kafka.connect.data.Time": fixed(_time(1000, element=True)),
    "io.debezium.time.Time": fixed(_time(1000, element=True)),
    "io.debezium.time.MicroTime": fixed(_time(MICROS, element=True)),
    "io.debezium.time.NanoTime": fixed(_time(1000 * MICROS, element=True)),
    "io.debezium.time.IsoTime": fixed(_iso_time(element=True)),
    "io.debezium.time.ZonedTime": fixed(_zoned_time(element=True)),
}
"""The builders of kinds that have another form in arrays."""
