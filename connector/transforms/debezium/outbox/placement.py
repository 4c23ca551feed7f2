"""Columns of the outbox table that go beside the payload (option ``table.fields.additional.placement``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.configdef.options import OptionError, Options
from connector.transforms.debezium.differences import Differences

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
    def all_of(cls, options: Options, differences: Differences) -> tuple[Placement, ...]:
        """Read the option. Raises OptionError for an entry that is no pair or trio."""
        text = options.raw.get(_NAME)
        if text is None:
            return ()
        entries = text.split(",")
        # As String.split does: commas alone are no entries, an empty text is one.
        while text and entries and not entries[-1]:
            entries.pop()
        return tuple(cls._parsed(entry, differences) for entry in entries)

    @classmethod
    def _parsed(cls, entry: str, differences: Differences) -> Placement:
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
