"""``DropHeaders``: takes headers out of records (KIP-440)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.transforms.kafka.definitions import definition
from connector.transforms.kafka.list_validators import some_distinct_names, some_names


@dataclass(frozen=True, slots=True)
class DropHeaders:
    """Drops all headers of these names."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, options: Options) -> DropHeaders:
        """Make it of its options."""
        return cls(options.names("headers"))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record without these headers."""
        return record.without_headers(self.names)


KEYS: Final = (
    Key(
        "headers",
        "LIST",
        None,
        "HIGH",
        "headers",
        "Names of the headers.",
        validators=(some_distinct_names,),
        validators_until_2=(some_names,),
        required=True,
        framework=True,
        fixed_order=-1,
    ),
)
DEFINITIONS: Final = (definition("DropHeaders", KEYS, DropHeaders.of, "Takes headers out of records."),)
