"""Converts Kafka's client properties to aiokafka's arguments, for all clients of the worker and of its tasks."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sasl import sasl_arguments
from connector.io.kafka.tls import client_context

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TIMES: Final = {
    "request.timeout.ms": "request_timeout_ms",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "connections.max.idle.ms": "connections_max_idle_ms",
    "retry.backoff.ms": "retry_backoff_ms",
}
_MOST_DIGITS: Final = 18
"""The most digits of a number, because Python's int() raises for very long ones."""
_OF_A_CONNECTION: Final = ("client_id", "request_timeout_ms", "ssl_context", "security_protocol")


def client_arguments(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments that aiokafka's consumer, producer and admin client share. Times in ``properties`` are in milliseconds.

    Raises CdcError(CONFIG_INVALID), which names the property, for a value without an equivalent (Java's key stores, Kerberos, classes).
    """
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in _PROTOCOLS:
        raise invalid("security.protocol", protocol, f"choose one of {', '.join(_PROTOCOLS)}")
    options: dict[str, Any] = {
        "bootstrap_servers": [part.strip() for part in properties.get("bootstrap.servers", "localhost:9092").split(",") if part.strip()],
        "security_protocol": protocol,
    }
    if client_id := properties.get("client.id", "").strip():
        options["client_id"] = client_id
    for key, argument in _TIMES.items():
        if key in properties:
            options[argument] = whole_number(properties, key)
    if protocol.startswith("SASL"):
        options.update(sasl_arguments(properties))
    if protocol.endswith("SSL"):
        options["ssl_context"] = client_context(properties)
    return options


def whole_number(properties: Mapping[str, str], key: str, default: int = 0) -> int:
    """Return a property's value as a non-negative integer. Raises CdcError(CONFIG_INVALID) for another text."""
    text = properties.get(key, str(default)).strip()
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise invalid(key, text, "write a whole number")
    return int(text)


def invalid(key: str, value: str, remedy: str) -> CdcError:
    """Return the error for an invalid value, in Kafka's words, with a remedy."""
    return CdcError(ErrorKind.CONFIG_INVALID, f"Invalid value {value} for configuration {key}: {remedy}")


async def connection_problem(arguments: Mapping[str, Any]) -> CdcError | None:
    """Connect again to find out why the brokers refuse. Return None if the reason is unknown, or if a broker now accepts.

    aiokafka's clients do not report the reason: the error for a wrong password is the same as for a broker that is down.
    """
    from aiokafka.errors import KafkaError  # noqa: PLC0415 (needed in trouble only)

    from connector.io.kafka.aiokafka_internals import try_connection  # noqa: PLC0415

    own = {key: value for key, value in arguments.items() if key in _OF_A_CONNECTION or key.startswith("sasl_")}
    for server in arguments["bootstrap_servers"]:
        try:
            await try_connection(server, own)
        except (KafkaError, OSError, TimeoutError) as problem:
            if (failure := _failure(problem, server)) is not None:
                return failure
        else:
            return None
    return None


def _failure(problem: BaseException, server: str) -> CdcError | None:
    from aiokafka.errors import IllegalSaslStateError, SaslAuthenticationFailed, UnsupportedSaslMechanismError  # noqa: PLC0415

    from connector.io.kafka.oauth import TokenUnavailableError  # noqa: PLC0415

    name = type(problem).__name__
    if isinstance(problem, ssl.SSLCertVerificationError):
        return CdcError(
            ErrorKind.SINK_REFUSED,
            f"The certificate of Kafka at {server} is not trusted",
            "Name the authority that signed it in ssl.truststore.location (PEM), and reach the broker by a name that the certificate holds",
            problem.verify_message,
        )
    if isinstance(problem, ssl.SSLError):
        return CdcError(
            ErrorKind.SINK_REFUSED,
            f"Kafka at {server} speaks no TLS with this client",
            "Check security.protocol, the port, ssl.enabled.protocols and ssl.keystore.*",
            problem.reason or name,
        )
    if isinstance(problem, (IllegalSaslStateError, SaslAuthenticationFailed, UnsupportedSaslMechanismError)):
        return CdcError(
            ErrorKind.SINK_PERMISSION,
            f"Kafka at {server} does not accept this login",
            "Check sasl.mechanism and sasl.jaas.config, and that the broker knows the user",
            str(problem),
        )
    if isinstance(problem, TokenUnavailableError):
        return CdcError(
            ErrorKind.SINK_UNREACHABLE,
            "Could not obtain an OAuth token for Kafka",
            "Check sasl.oauthbearer.* and the token endpoint",
            str(problem),
        )
    return None
