"""``Filter``: drops records; together with a predicate, some of them (KIP-585)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.transforms.kafka.definitions import definition


@dataclass(frozen=True, slots=True)
class Filter:
    """Drops every record."""

    @classmethod
    def of(cls, _options: Options) -> Filter:
        """Make it; it has no options."""
        return cls()

    def apply(self, _record: ConnectRecord) -> None:
        """Drop the record."""


DEFINITIONS: Final = (definition("Filter", (), Filter.of, "Drops records; use it with a predicate."),)
