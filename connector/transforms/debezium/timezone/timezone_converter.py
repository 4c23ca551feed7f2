"""``TimezoneConverter``: times of events in another time zone (Debezium documentation, "Timezone Converter").

What has no zone (timestamp) is read as the local time of that zone, and becomes the count of that instant. What has one (timestamptz,
timetz) is written with the zone's offset. For a time of day that is today's offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from connector.configdef.key import SINCE_3, Key
from connector.configdef.options import OptionError, Options
from connector.java.splitting import java_list
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import CONNECT_TIMESTAMP, Schema
from connector.record.struct import SchemaCache, field_of
from connector.transforms.debezium.envelope import with_defaults
from connector.transforms.debezium.envelope_name import change_event
from connector.transforms.debezium.timezone.timezone_rules import TimezoneRules
from connector.transforms.debezium.timezone.zone import Zone, move_time, move_timestamp
from connector.transforms.transform import SharesHeaders, TransformDefinition

ZONE: Final = "converted.timezone"
INCLUDED: Final = "include.list"
EXCLUDED: Final = "exclude.list"

_MILLIS: Final = 1_000
_MICROS: Final = 1_000_000
_NANOS: Final = 1_000_000_000
_LOCAL: Final = {
    "io.debezium.time.Timestamp": _MILLIS,
    "io.debezium.time.MicroTimestamp": _MICROS,
    "io.debezium.time.NanoTimestamp": _NANOS,
    CONNECT_TIMESTAMP: _MILLIS,
}
"""Semantic types of timestamps without zone → their counts in a second."""
_SOURCE_COUNTS: Final = {"ts_ms": _MILLIS, "ts_us": _MICROS, "ts_ns": _NANOS}
"""Fields of the source block that are instants, although their schema does not tell."""
_LEAST: Final = -(2**63)
_WRONG_ZONE: Final = (
    "Invalid timezone format. Please specify either a geographic timezone (e.g. America/Los_Angeles) or a UTC offset in the format of "
    "+/-hh:mm, (e.g. +08:00)."
)

Converter = Callable[[Any], Any]
Plan = Mapping[str, tuple[Converter, Any]]
"""Fields with what converts them, and their default, which stands for null."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class TimezoneConverter(SharesHeaders):
    """Converts the times of rows, of all events or of those that the rules choose.

    Without rules, all times of ``before`` and ``after`` are converted. The source block's are once a rule names a field of it.
    """

    zone: Zone
    included: TimezoneRules | None = None
    excluded: TimezoneRules | None = None
    clock: Callable[[], datetime] = _now
    """Tells the day whose offset a time of day has."""
    _plans: SchemaCache[dict[str, Plan]] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options) -> TimezoneConverter:
        """Make it of its options."""
        name = options.written(ZONE)
        try:
            zone = Zone.named(name)
        except ValueError:
            raise OptionError(_WRONG_ZONE) from None
        included, excluded = _rules(options, INCLUDED, "include"), _rules(options, EXCLUDED, "exclude")
        if included is not None and excluded is not None:
            raise OptionError("Both include and exclude lists are specified. Please specify only one.")
        return cls(zone, included, excluded)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its times converted. Raises DataError for a text that is no time, and beyond 64 bits."""
        schema, value = change_event(record), record.value
        if schema is None:
            return record
        plans = self._plans.get(schema, self._plan)
        if not plans:
            return record
        source = value.get("source")
        table = source.get("table") if isinstance(source, dict) else None
        rules = self.included or self.excluded
        fields = None if rules is None else rules.fields(table, record.topic)
        if self.included is not None and fields is None:
            return record
        if self.excluded is not None and fields is not None and not fields:
            return record
        changed = dict(value)
        for name, plan in plans.items():
            if name == "source" and not any(chosen.startswith("source.") for chosen in fields or ()):
                continue
            if value.get(name) is not None:
                changed[name] = self._converted(name, plan, value[name], fields or frozenset())
        return replace(record, value=changed)

    def _converted(self, name: str, plan: Plan, row: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
        changed = dict(row)
        for column, (convert, default) in plan.items():
            held = default if row[column] is None else row[column]
            named = f"{name}.{column}" in fields or (name != "source" and column in fields)
            chosen = (not fields or named) if self.included is not None else not named
            if chosen and held is not None:
                try:
                    changed[column] = convert(held)
                except ValueError as error:
                    raise DataError(f"TimezoneConverter cannot convert the field {name}.{column}: {error}") from None
        return changed

    def _plan(self, schema: Schema) -> dict[str, Plan]:
        """The converters of the fields of ``before``, ``after`` and ``source``."""
        plans: dict[str, Plan] = {}
        for name in ("before", "after", "source"):
            part = field_of(schema, name)
            if part is not None and part.schema.type == "struct":
                defaults = dict(with_defaults(part.schema))
                by_column = {column.name: self._converter(name, column.name, column.schema) for column in part.schema.fields}
                plans[name] = {column: (convert, defaults.get(column)) for column, convert in by_column.items() if convert is not None}
        return plans

    def _converter(self, part: str, column: str, schema: Schema) -> Converter | None:
        if schema.name == "io.debezium.time.ZonedTimestamp":
            return lambda text: move_timestamp(text, self.zone)
        if schema.name == "io.debezium.time.ZonedTime":
            return lambda text: move_time(text, self.zone.at(int(self.clock().timestamp())))
        counts = _LOCAL.get(schema.name or "")
        if counts is not None:
            return lambda count: self._from_local(count, counts)
        if part == "source" and schema.name is None and schema.type == "int64" and column in _SOURCE_COUNTS:
            of_second = _SOURCE_COUNTS[column]
            return lambda count: count + self.zone.at(count // of_second) * of_second
        return None

    def _from_local(self, count: int, counts: int) -> int:
        moved = count - self.zone.at_local(count // counts) * counts
        if counts == _MILLIS and not _LEAST <= moved < -_LEAST:
            raise ValueError("it is beyond 64 bits")
        # Java's numbers start over at their other end.
        return (moved - _LEAST) % (1 << 64) + _LEAST


def _rules(options: Options, name: str, shown: str) -> TimezoneRules | None:
    entries = java_list(options.raw.get(name, ","))
    if not entries:
        return None
    try:
        return TimezoneRules.of(entries)
    except ValueError:
        raise OptionError(
            f'Invalid {shown} list format. Please specify a list of rules in the format of "source:<tablename>:<fieldnames>", '
            '"topic:<topicname>:<fieldnames>", "<matchname>:<fieldnames>"'
        ) from None


_FORMS: Final = (
    "Forms: source:<table>, source:<table>:<field>, topic:<topic>, topic:<topic>:<field>, and <name>:<field>, where the name is a table's "
    "or a topic's. Fields of the source block are named source.<field>."
)
KEYS: Final = (
    Key(
        ZONE,
        "STRING",
        None,
        "HIGH",
        "Converted Timezone",
        "The time zone: a place like America/Los_Angeles, or an offset from UTC like +08:00.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        INCLUDED,
        "LIST",
        None,
        "HIGH",
        "Include List",
        f"Rules of what is converted; nothing else is. {_FORMS}",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
    Key(
        EXCLUDED,
        "LIST",
        None,
        "HIGH",
        "Exclude List",
        f"Rules of what is not converted; all other times are. {_FORMS}",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.TimezoneConverter", KEYS, TimezoneConverter.of, SINCE_3, "Converts the times of events to a time zone."
    ),
)
