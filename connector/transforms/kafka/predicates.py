"""Kafka's predicates (KIP-585, KIP-769)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.configdef.kafka_validators import not_empty
from connector.configdef.key import Key, Validator
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.transforms.kafka.definitions import PACKAGE, check_options
from connector.transforms.kafka.regex_checks import compiled, some_regex
from connector.transforms.routing_pattern import RoutingPattern
from connector.transforms.transform import PredicateDefinition


@dataclass(frozen=True, slots=True)
class HasHeaderKey:
    """Whether a record has a header of this name."""

    name: str

    @classmethod
    def of(cls, options: Options) -> HasHeaderKey:
        """Make it of its options. Raises OptionError."""
        check_options(HEADER_KEYS, options)
        return cls(options.needed("name"))

    def test(self, record: ConnectRecord) -> bool:
        """Whether the record has the header."""
        return record.last_named(self.name) is not None


@dataclass(frozen=True, slots=True)
class RecordIsTombstone:
    """Whether a record's value is null."""

    @classmethod
    def of(cls, _options: Options) -> RecordIsTombstone:
        """Make it; it has no options."""
        return cls()

    def test(self, record: ConnectRecord) -> bool:
        """Whether the value is null."""
        return record.value is None


@dataclass(frozen=True, slots=True)
class TopicNameMatches:
    """Whether a regular expression matches the whole name of a record's topic."""

    pattern: RoutingPattern

    @classmethod
    def of(cls, options: Options) -> TopicNameMatches:
        """Make it of its options. Raises OptionError."""
        check_options(TOPIC_KEYS, options)
        return cls(compiled("pattern", options))

    def test(self, record: ConnectRecord) -> bool:
        """Whether the topic matches."""
        return self.pattern.matches(record.topic)


def _row(name: str, doc: str, *validators: Validator) -> Key:
    return Key(name, "STRING", None, "MEDIUM", name, doc, validators=validators, required=True, framework=True, fixed_order=-1)


HEADER_KEYS: Final = (_row("name", "Name of the header.", not_empty),)
TOPIC_KEYS: Final = (_row("pattern", "Java regular expression for the whole name of the topic.", some_regex),)
PREDICATES: Final = (
    PredicateDefinition(f"{PACKAGE}.predicates.HasHeaderKey", HEADER_KEYS, HasHeaderKey.of),
    PredicateDefinition(f"{PACKAGE}.predicates.RecordIsTombstone", (), RecordIsTombstone.of),
    PredicateDefinition(f"{PACKAGE}.predicates.TopicNameMatches", TOPIC_KEYS, TopicNameMatches.of),
)
