"""Properties whose values are passwords by their definition: the connector's, and those of converters and of Kafka's clients."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from connector.config.kafka_clients import KEYS
from connector.config.keys import BY_NAME
from connector.converters.catalog import CONVERTERS


def passwords(names: Iterable[str]) -> list[str]:
    """Return those of the properties that are passwords. A name counts with every prefix (``value.converter.``, ``producer.override.``)."""
    defined = _defined()
    return [name for name in names if any(name[start:] in defined for start in _starts(name))]


def _starts(name: str) -> Iterable[int]:
    yield 0
    yield from (place + 1 for place, letter in enumerate(name) if letter == ".")


@cache
def _defined() -> frozenset[str]:
    keys = [*BY_NAME.values(), *(key for definition in CONVERTERS.values() for key in definition.keys)]
    clients = {name for rules in KEYS.values() for name, rule in rules.items() if "PASSWORD" in rule.definition.split()}
    return frozenset(key.name for key in keys if key.type == "PASSWORD") | clients
