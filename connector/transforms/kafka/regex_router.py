"""``RegexRouter``: another topic by a regular expression (Kafka documentation, "Transformations")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.java.regex.matching import ReplacementError
from connector.record.connect_record import ConnectRecord, DataError
from connector.transforms.kafka.definitions import definition
from connector.transforms.kafka.regex_checks import compiled, regex
from connector.transforms.routing_pattern import RoutingPattern


@dataclass(frozen=True, slots=True)
class RegexRouter:
    """Renames the topic when ``regex`` matches its whole name; ``replacement`` may refer to groups (``$1``)."""

    regex: RoutingPattern
    replacement: str

    @classmethod
    def of(cls, options: Options) -> RegexRouter:
        """Make it of its options. Raises OptionError."""
        return cls(compiled("regex", options), options.needed("replacement"))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its new topic. Raises DataError for a replacement that refers to a group which is not there."""
        try:
            topic = self.regex.replace_whole(record.topic, self.replacement)
        except ReplacementError as error:
            raise DataError(f"The replacement of RegexRouter cannot be applied to topic {record.topic}: {error}") from None
        return record if topic is None or topic == record.topic else replace(record, topic=topic)


KEYS: Final = (
    Key(
        "regex",
        "STRING",
        None,
        "HIGH",
        "regex",
        "Regular expression for the whole name of the topic.",
        validators=(regex,),
        required=True,
        framework=True,
        fixed_order=-1,
    ),
    Key(
        "replacement",
        "STRING",
        None,
        "HIGH",
        "replacement",
        "Name of the new topic; $1 stands for the expression's first group.",
        required=True,
        framework=True,
        fixed_order=-1,
    ),
)
DEFINITIONS: Final = (definition("RegexRouter", KEYS, RegexRouter.of, "Renames topics by a regular expression."),)
