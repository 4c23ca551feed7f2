"""A connector's overrides of Kafka's client settings (KIP-458), as Connect 4.3 shows those that a configuration sets.

The table is :mod:`connector.config.kafka_clients`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from connector.config.kafka_clients import KEYS as KAFKA_KEYS
from connector.config.kafka_clients import Client
from connector.configdef.key import Importance, Key, Type
from connector.java.hash_map import java_order, of_copy
from connector.java.trim import trim

_REQUIRED: Final[Mapping[Client, frozenset[str]]] = {
    "producer": frozenset({"bootstrap.servers", "key.serializer", "value.serializer"}),
    "consumer": frozenset({"bootstrap.servers", "key.deserializer", "value.deserializer"}),
    "admin": frozenset(),
}

_OVERRIDDEN: Final[Mapping[Client, int]] = {"producer": 0, "consumer": 0, "admin": 1}
"""The clients whose overrides Connect shows, each with the place of its default in a definition with two."""


def _keys(client: Client, place: int) -> dict[str, Key]:
    return {name: _key(client, name, *_definition(rule.definition, place)) for name, rule in KAFKA_KEYS[client].items() if rule.definition}


def _definition(text: str, place: int) -> tuple[str, str, str | None]:
    kind, importance, *given = text.split(maxsplit=2)
    if not given:
        return kind, importance, None
    defaults = given[0].split("|")
    default = defaults[place if len(defaults) > 1 else 0]
    return kind, importance, None if default == "-" else default.strip("'")


def _key(client: Client, name: str, kind: str, importance: str, default: str | None) -> Key:
    return Key(
        f"{client}.override.{name}",
        cast("Type", kind),
        default,
        cast("Importance", importance),
        name,
        f"Kafka's {name} for this connector.",
        required=name in _REQUIRED[client],
        framework=True,
        versions=(),
        fixed_order=-1,
    )


_CLIENTS: Final = {client: _keys(client, place) for client, place in _OVERRIDDEN.items()}


def override_keys(settings: Mapping[str, str | None]) -> list[tuple[Key | None, str | None, str]]:
    """Return rows, values and full names of the overrides in ``settings``, in Connect's order; the row is None if the client lacks it.

    Connect shows those of the clients that the connector needs: the admin client for the creation of topics, and with a topic of its own
    for offsets both the admin client and the consumer.
    """
    found: list[tuple[Key | None, str | None, str]] = []
    used: set[Client] = {"producer"}
    if any(name.startswith("topic.creation.") for name in settings):
        used.add("admin")
    if trim(settings.get("offsets.storage.topic") or ""):
        used |= {"admin", "consumer"}
    listed = java_order(settings, of_copy(len(settings)))
    for client, keys in _CLIENTS.items():
        prefix = f"{client}.override."
        if client not in used:
            continue
        # Of names in one bucket of Kafka's map of overrides, the first is the one that comes first in the map of all settings.
        names = java_order(name.removeprefix(prefix) for name in listed if name.startswith(prefix))
        found += [(keys.get(name), settings[prefix + name], prefix + name) for name in names]
    return found
