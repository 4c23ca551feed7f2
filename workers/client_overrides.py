"""What a connector says of its Kafka clients: checked when it is saved, and told of when it starts."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Final

from connector.errors import CdcError
from connector.kafka_keys import Client, sort_out

LOGGER: Final = logging.getLogger(__name__)

PREFIXES: Final[Mapping[str, Client]] = {"producer.override.": "producer", "admin.override.": "admin", "signal.consumer.": "consumer"}
ALLOWED: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.token.endpoint.url": "org.apache.kafka.sasl.oauthbearer.allowed.urls",
    "sasl.oauthbearer.assertion.file": "org.apache.kafka.sasl.oauthbearer.allowed.files",
}
"""What a worker calls or reads in a connector's name → the list that allows it, by Kafka's name: whoever may create connectors must not
thereby reach every address and file that the worker can reach."""


def refusals(config: Mapping[str, str], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    """(property, one sentence) for each that cannot be honoured; a sentence may quote the value.

    ``worker`` are the worker's properties: what they name themselves is allowed to connectors.
    """
    found: list[tuple[str, str]] = []
    for prefix, client in PREFIXES.items():
        given = _under(config, prefix)
        for key, why in sort_out(client, given).refused.items():
            found.append((prefix + key, f"Invalid value {given[key]} for configuration {prefix}{key}: {why[0].upper()}{why[1:]}"))
        found += _not_allowed(prefix, given, worker)
    return found


def unusable(config: Mapping[str, str], clients: Mapping[Client, Mapping[str, str]]) -> list[tuple[str, str]]:
    """(property, one sentence) where the overrides of ``config`` do not go together with the rest of a client's properties.

    ``clients`` holds these, overrides applied. A sentence may quote values.
    """
    from connector.io.compression import compressor_of  # noqa: PLC0415 (with Kafka's library; a worker starts without it)
    from connector.io.kafka_client import client_arguments  # noqa: PLC0415
    from connector.io.producer_settings import producer_arguments  # noqa: PLC0415

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


def tell(config: Mapping[str, str]) -> None:
    """Name in the log what has no effect, and what Kafka does not know."""
    idle: list[str] = []
    unknown: list[str] = []
    for prefix, client in PREFIXES.items():
        found = sort_out(client, _under(config, prefix))
        idle += [prefix + key for key in found.idle]
        unknown += [prefix + key for key in found.unknown]
    if idle:
        LOGGER.info("properties of kafka clients without effect here", extra={"fields": {"names": ",".join(idle)}})
    if unknown:
        LOGGER.warning("unknown properties of kafka clients", extra={"fields": {"names": ",".join(unknown)}})


def _not_allowed(prefix: str, given: Mapping[str, str], worker: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, listed in ALLOWED.items():
        value = given.get(key, "").strip()
        allowed = {entry.strip() for entry in worker.get(listed, "").split(",")}
        allowed |= {own.strip() for name, own in worker.items() if name == key or name.endswith("." + key)}
        if value and value not in allowed:
            yield prefix + key, f"Invalid value {value} for configuration {prefix}{key}: The worker's {listed} does not allow it"


def _under(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
