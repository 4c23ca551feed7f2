"""A connector's properties for its Kafka clients: checked when they are stored, and logged if ineffective when the connector starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from connector.config.kafka_clients import Client, sort_out
from connector.errors import CdcError
from connector.log import EventLog
from workers.settings.prefix import under

LOG: Final = EventLog(__name__)

PREFIXES: Final[Mapping[str, Client]] = {"producer.override.": "producer", "admin.override.": "admin", "signal.consumer.": "consumer"}
ALLOWED: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.token.endpoint.url": "org.apache.kafka.sasl.oauthbearer.allowed.urls",
    "sasl.oauthbearer.assertion.file": "org.apache.kafka.sasl.oauthbearer.allowed.files",
}
"""Property whose value the worker calls or reads → the property that lists the allowed values, by Kafka's name. Without the list anybody
who may create connectors could reach every address and file that the worker can reach."""


def refusals(config: Mapping[str, str], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    """(property, one sentence) for each unsupported property. A sentence may quote the value.

    ``worker`` are the worker's properties. The values that they use themselves are allowed for connectors too.
    """
    found: list[tuple[str, str]] = []
    for prefix, client in PREFIXES.items():
        given = under(config, prefix)
        for key, why in sort_out(client, given).refused.items():
            found.append((prefix + key, f"Invalid value {given[key]} for configuration {prefix}{key}: {why[0].upper()}{why[1:]}"))
        found += _not_allowed(prefix, given, worker)
    return found


def unusable(config: Mapping[str, str], clients: Mapping[Client, Mapping[str, str]]) -> list[tuple[str, str]]:
    """(property, one sentence) for overrides in ``config`` that conflict with a client's other properties.

    ``clients`` holds all properties of each client, with the overrides applied. A sentence may quote values.
    """
    from connector.io.kafka.client import client_arguments  # noqa: PLC0415
    from connector.io.kafka.compression import compressor_of  # noqa: PLC0415 (it imports Kafka's library, which a worker loads after its start)
    from connector.io.kafka.producer_settings import producer_arguments  # noqa: PLC0415

    checks = {"producer": (producer_arguments, compressor_of), "admin": (client_arguments,)}
    found: list[tuple[str, str]] = []
    for prefix, client in PREFIXES.items():
        own = [key for key in config if key.startswith(prefix)]
        properties = clients.get(client, {})
        if not own:
            continue
        for check in checks.get(client, ()):
            try:
                check(properties)
            except CdcError as problem:
                named = (key for key in own if key.removeprefix(prefix) in problem.message)
                found.append((next(named, own[0]), str(problem)))
                break
    return found


def log_ineffective(config: Mapping[str, str]) -> None:
    """Log the properties that have no effect here and those that Kafka does not know."""
    idle: list[str] = []
    unknown: list[str] = []
    for prefix, client in PREFIXES.items():
        found = sort_out(client, under(config, prefix))
        idle += [prefix + key for key in found.idle]
        unknown += [prefix + key for key in found.unknown]
    if idle:
        LOG.info("properties of kafka clients without effect here", names=",".join(idle))
    if unknown:
        LOG.warning("unknown properties of kafka clients", names=",".join(unknown))


def _not_allowed(prefix: str, given: Mapping[str, str], worker: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, listed in ALLOWED.items():
        value = given.get(key, "").strip()
        allowed = {entry.strip() for entry in worker.get(listed, "").split(",")}
        allowed |= {own.strip() for name, own in worker.items() if name == key or name.endswith("." + key)}
        if value and value not in allowed:
            yield prefix + key, f"Invalid value {value} for configuration {prefix}{key}: The worker's {listed} does not allow it"
