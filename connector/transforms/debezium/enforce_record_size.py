"""``EnforceRecordSize``: long texts and bytes of rows cut so that records stay below a size (Debezium 3.6 documentation).

Each field is cut in proportion to its length, so that together they lose what the record has too much. The record's size is Debezium's
estimate. Only columns of ``before`` and ``after`` are cut, and none that is a number or within a struct or an array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil
from typing import Any, Final

from connector.configdef.key import SINCE_3, Key
from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord
from connector.record.schema import Schema
from connector.record.struct import field_of, get
from connector.transforms.debezium.record_size import POSITION, record_size
from connector.transforms.transform import TransformDefinition

MOST: Final = "max.bytes"
RATIO: Final = "compression.ratio"
LEAST: Final = "min.field.size"

_STATES: Final = ("before", "after")


@dataclass(frozen=True, slots=True)
class EnforceRecordSize:
    """Cuts the fields that are longer than ``least`` when ``ratio`` times the record's size is more than ``most``.

    Lengths are of bytes, and of UTF-16 units for texts. ``position`` is the number of members of the records' positions.
    """

    most: int
    ratio: float
    least: int
    position: int = POSITION

    @classmethod
    def of(cls, options: Options) -> EnforceRecordSize:
        """Make it of its options."""
        most, least = options.number(MOST), options.number(LEAST)
        written = options.needed(RATIO)
        try:
            ratio = float(written)
        except ValueError:
            raise OptionError(f"Invalid value {written} for configuration {RATIO}: Not a number of type DOUBLE") from None
        if most < 1:
            raise OptionError(f"Invalid value {most} for configuration {MOST}: Must be a positive integer")
        if not ratio > 0:
            raise OptionError(f"Invalid value {ratio} for configuration {RATIO}: Must be a positive number")
        if least < 0:
            raise OptionError(f"Invalid value {least} for configuration {LEAST}: Must be non-negative")
        return cls(most, ratio, least)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record, cut where it is too large."""
        schema, value = record.value_schema, record.value
        if value is None or schema is None or schema.type != "struct":
            return record
        excess = ceil(record_size(record, self.position) * self.ratio) - self.most
        if excess <= 0:
            return record
        lengths = {
            state: (side.schema, self._lengths(side.schema, value[state]))
            for state in _STATES
            if (side := field_of(schema, state)) is not None and side.schema.type == "struct" and value[state] is not None
        }
        total = sum(sum(of_side.values()) for _, of_side in lengths.values())
        if not total:
            return record
        changed = {}
        for state, (side_schema, of_side) in lengths.items():
            of_all = sum(of_side.values())
            # The reference rounds up what each row loses and what each field of it does.
            lost = ceil(of_all / total * excess)
            cut = {
                name: _cut(get(side_schema, value[state], name), max(length - ceil(length / of_all * lost), 0))
                for name, length in of_side.items()
            }
            changed[state] = {**value[state], **cut}
        return replace(record, value={**value, **changed})

    def _lengths(self, schema: Schema, row: dict[str, Any]) -> dict[str, int]:
        """The fields that are long enough to be cut."""
        lengths = {column.name: _length(get(schema, row, column.name)) for column in schema.fields}
        return {name: length for name, length in lengths.items() if length > self.least}


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + sum(letter > "\uffff" for letter in value)
    return len(value) if isinstance(value, bytes) and not isinstance(value, Decimal) else 0


def _cut(value: str | bytes, length: int) -> str | bytes:
    """The beginning of a value. A character beyond U+FFFF that would be cut in two is left out."""
    if isinstance(value, bytes):
        return value[:length]
    return value.encode("utf-16-le")[: 2 * length].decode("utf-16-le", "ignore")


KEYS: Final = (
    Key(
        MOST,
        "INT",
        None,
        "HIGH",
        MOST,
        "The size that a record may have, in bytes. Texts and bytes of larger ones are cut.",
        required=True,
        framework=True,
        fixed_order=-1,
    ),
    Key(
        RATIO,
        "DOUBLE",
        "1.0",
        "MEDIUM",
        RATIO,
        "What the estimate of a record's size is multiplied by: 0.5 where Kafka's compression halves the records.",
        framework=True,
        fixed_order=-1,
    ),
    Key(
        LEAST,
        "INT",
        "25000",
        "MEDIUM",
        LEAST,
        "Fields of this length and shorter ones are not cut.",
        framework=True,
        fixed_order=-1,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.EnforceRecordSize", KEYS, EnforceRecordSize.of, SINCE_3, "Cuts long texts and bytes of large records."
    ),
)
