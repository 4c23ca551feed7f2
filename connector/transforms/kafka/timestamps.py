"""One time, from one of the forms that ``TimestampConverter`` knows to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from connector.java.date_format import DateFormat
from connector.java.numbers import wrap
from connector.record.connect_record import DataError
from connector.record.java_date import JavaDate
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, INT64, STRING, Schema

TARGETS: Final = ("string", "unix", "Date", "Time", "Timestamp")
UNITS: Final = {"seconds": 1_000_000_000, "milliseconds": 1_000_000, "microseconds": 1_000, "nanoseconds": 1}
"""Nanoseconds of the units of ``unix.precision``."""
_MS: Final = 1_000_000
_DAY_MS: Final = 86_400_000
_LONG: Final = 2**63
_FORMS: Final = {CONNECT_DATE: "Date", CONNECT_TIME: "Time", CONNECT_TIMESTAMP: "Timestamp"}
_SCHEMAS: Final = {
    "string": STRING,
    "unix": INT64,
    "Date": Schema("int32", name=CONNECT_DATE, version=1),
    "Time": Schema("int32", name=CONNECT_TIME, version=1),
    "Timestamp": Schema("int64", name=CONNECT_TIMESTAMP, version=1),
}
_OPTIONAL: Final = {target: schema.as_optional() for target, schema in _SCHEMAS.items()}


@dataclass(frozen=True, slots=True)
class Timestamps:
    """Converts times to ``target``. ``pattern`` is that of texts, ``unit`` that of numbers in ns."""

    target: str
    pattern: DateFormat | None
    unit: int

    def schema(self, *, optional: bool) -> Schema:
        """Return the schema of converted times."""
        return (_OPTIONAL if optional else _SCHEMAS)[self.target]

    def convert(self, schema: Schema, value: Any) -> Any:
        """Convert a value of a schema. Raises DataError for a schema of no time, and for a text that cannot be read."""
        form = _form(schema)
        if value is None:
            return None
        ms = self._ms(form, value)
        match self.target:
            case "Date":
                return wrap(ms // _DAY_MS, 32)
            case "Time":
                return ms % _DAY_MS
            case _:
                return self._converted(ms)

    def convert_plain(self, value: Any) -> Any:
        """Convert a value without a schema. Raises DataError."""
        match value:
            case None:
                return None
            case JavaDate():
                ms = value.ms
            case str():
                ms = self._ms("string", value)
            case int() if not isinstance(value, bool):
                ms = self._ms("unix", value)
            case _:
                raise DataError(f"TimestampConverter does not support {type(value).__name__} objects as timestamps")
        match self.target:
            case "Date":
                return JavaDate(ms - ms % _DAY_MS)
            case "Time":
                return JavaDate(ms % _DAY_MS)
            case "Timestamp":
                return JavaDate(ms)
            case _:
                return self._converted(ms)

    def _ms(self, form: str, value: Any) -> int:
        """Return the time in ms since 1970-01-01."""
        match form:
            case "string":
                if self.pattern is None:
                    raise DataError("TimestampConverter needs the option format to read a timestamp that is a text")
                ms = self.pattern.parse(value)
                if ms is None:
                    raise DataError(f"Could not parse timestamp: value does not match pattern ({self.pattern.pattern})")
                return ms
            case "unix":
                # Java divides towards zero, and keeps what is too large at its limit.
                ns = value * self.unit
                return _clamped(ns // _MS if ns >= 0 else -(-ns // _MS))
            case "Date":
                return int(value) * _DAY_MS
            case _:
                return int(value)

    def _converted(self, ms: int) -> Any:
        match self.target:
            case "string":
                return "" if self.pattern is None else self.pattern.format(ms)
            case "unix":
                ns = ms * _MS
                return _clamped(ns // self.unit if ns >= 0 else -(-ns // self.unit))
            case _:
                return ms


def _form(schema: Schema) -> str:
    """Return the form of the times of a schema."""
    if schema.name in _FORMS:
        return _FORMS[schema.name]
    if schema.type in ("string", "int64"):
        return "string" if schema.type == "string" else "unix"
    raise DataError(f"Schema of type {schema.type} does not correspond to a known timestamp type format")


def _clamped(number: int) -> int:
    return max(-_LONG, min(_LONG - 1, number))
