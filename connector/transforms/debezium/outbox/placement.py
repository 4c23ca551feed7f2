"""Columns of the outbox table that go beside the payload: into headers, the partition or an envelope.

The option ``table.fields.additional.placement`` names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from connector.configdef.options import OptionError, Options
from connector.record.connect_record import DataError, Header
from connector.record.schema import Field, Schema
from connector.record.struct import field_of, get
from connector.transforms.debezium.differences import Differences
from connector.transforms.debezium.envelope import int32_of, schema_of

_NAME: Final = "table.fields.additional.placement"
PLACES: Final = ("header", "envelope", "partition")


@dataclass(frozen=True, slots=True)
class Placement:
    """``column:place[:alias]``."""

    column: str
    place: str | None
    """header, envelope or partition; None for another word, which fails when a row comes."""
    name: str
    """The alias, or else the column."""

    @classmethod
    def parse(cls, entry: str, differences: Differences) -> Placement:
        """Read one entry of the option. Raises OptionError for an entry that is no pair or trio."""
        parts = entry.split(":")
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        if len(parts) not in (2, 3):
            raise OptionError(
                f"Invalid value {entry} for configuration {_NAME}: The '{_NAME}' value is invalid: "
                f"A comma-separated list of valid String pairs or trios is expected but got: [{entry}]"
            )
        if differences.trims_placements:
            parts = [part.strip() for part in parts]
        place = parts[1].strip().lower()
        return cls(parts[0], place if place in PLACES else None, parts[-1] if len(parts) == 3 else parts[0])


class Placements:
    """The columns that one connector's option names. ``skips_missing``: one that the table lacks is left out."""

    def __init__(self, every: tuple[Placement, ...], *, skips_missing: bool) -> None:
        self.every: Final = every
        self.skips_missing: Final = skips_missing
        self.enveloped: Final = any(placement.place == "envelope" for placement in every)
        """Whether the value is an envelope, in which the payload is one of the fields."""

    @classmethod
    def read(cls, options: Options, differences: Differences, *, skips_missing: bool) -> Placements:
        """Read the option. Raises OptionError for an entry that is no pair or trio."""
        text = options.raw.get(_NAME)
        entries = [] if text is None else text.split(",")
        # As String.split does: commas alone are no entries, an empty text is one.
        while text and entries and not entries[-1]:
            entries.pop()
        return cls(tuple(Placement.parse(entry, differences) for entry in entries), skips_missing=skips_missing)

    def headers(self, schema: Schema, row: Mapping[str, Any]) -> tuple[list[Header], int | None]:
        """Return the headers that the row's columns give the message, and its partition. Raises DataError for an unknown place."""
        headers = []
        partition = None
        for placement in self.every:
            if self.skips_missing and field_of(schema, placement.column) is None:
                continue
            if placement.place is None:
                raise DataError(f"{_NAME} has an unknown place for {placement.column}")
            if placement.place == "header":
                headers.append(Header(placement.name, schema_of(schema, placement.column), get(schema, row, placement.column)))
            elif placement.place == "partition":
                partition = int32_of(schema, row, placement.column)
        return headers, partition

    def envelope_fields(self, schema: Schema, row: Mapping[str, Any]) -> Iterator[tuple[Field, Any]]:
        """Yield the fields of the envelope beside the payload, with their values. Raises DataError for a column that the table lacks."""
        for placement in self.every:
            if placement.place != "envelope":
                continue
            field = field_of(schema, placement.column)
            if field is not None:
                yield Field(placement.name, field.schema), get(schema, row, placement.column)
            elif not self.skips_missing:
                raise DataError(f"Unable to find field {placement.column} in event")
