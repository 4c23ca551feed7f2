"""``InsertHeader``: adds a header with a constant to every record (KIP-440)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from connector.configdef.key import Key, Settings
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, Header
from connector.record.value_parsing import parse_text
from connector.transforms.kafka.definitions import definition


@dataclass(frozen=True, slots=True)
class InsertHeader:
    """Adds ``header`` at the end."""

    header: Header

    @classmethod
    def of(cls, options: Options) -> InsertHeader:
        """Make it of its options. The text becomes a number, a boolean and so on if it looks like one."""
        parsed = parse_text(options.needed("value.literal"))
        return cls(Header(options.needed("header"), parsed.schema, parsed.value))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with one more header."""
        return record.with_header(*self.header)


def _not_null(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    if value is None:
        yield f"Invalid value null for configuration {key.name}: entry must be non null"


def _row(name: str, doc: str) -> Key:
    return Key(name, "STRING", None, "HIGH", name, doc, validators=(_not_null,), required=True, framework=True, fixed_order=-1)


KEYS: Final = (
    _row("header", "Name of the header."),
    _row("value.literal", "The header's value. Its type is that which it looks like: 1 is a number, true a boolean, [1] a list."),
)
DEFINITIONS: Final = (definition("InsertHeader", KEYS, InsertHeader.of, "Adds a header with a constant."),)
