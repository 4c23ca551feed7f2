"""Converts Kafka's client properties to aiokafka's arguments, for all clients of the worker and of its tasks."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Any, Final, Literal

from connector.configdef.validators import java_int, java_long
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sasl import sasl_arguments
from connector.io.kafka.tls import client_context

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TIMES: Final = {
    "request.timeout.ms": "request_timeout_ms",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "retry.backoff.ms": "retry_backoff_ms",
}
_IDLE: Final = "connections.max.idle.ms"
_SERVER: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
"""``host:port`` as Kafka's clients read it: with any prefix ``protocol://``, which has no meaning, and IPv6 with or without brackets."""
_MOST_PORT: Final = 65_535
_OF_A_CONNECTION: Final = ("client_id", "request_timeout_ms", "ssl_context", "security_protocol")


def client_arguments(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments that aiokafka's consumer, producer and admin client share. Times in ``properties`` are in milliseconds.

    Raises CdcError(CONFIG_INVALID), which names the property, for a value without an equivalent (Java's key stores, Kerberos, classes).
    """
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in _PROTOCOLS:
        raise invalid("security.protocol", protocol, f"choose one of {', '.join(_PROTOCOLS)}")
    options: dict[str, Any] = {
        "bootstrap_servers": _servers(properties.get("bootstrap.servers", "localhost:9092")),
        "security_protocol": protocol,
    }
    if client_id := properties.get("client.id", "").strip():
        options["client_id"] = client_id
    for key, argument in _TIMES.items():
        if key in properties:
            options[argument] = whole_number(properties, key, kind="INT" if key == "request.timeout.ms" else "LONG")
    if _IDLE in properties:
        # A negative time is no limit in Kafka.
        idle = whole_number(properties, _IDLE, kind="LONG", least=None)
        options["connections_max_idle_ms"] = None if idle < 0 else idle
    if protocol.startswith("SASL"):
        options.update(sasl_arguments(properties))
    if protocol.endswith("SSL"):
        options["ssl_context"] = client_context(properties)
    return options


def _servers(text: str) -> list[str]:
    """Return the servers as ``host:port``, with brackets around IPv6 addresses."""
    given = [entry for part in text.split(",") if (entry := part.strip())]
    if not given:
        raise invalid("bootstrap.servers", text, "write at least one server as host:port")
    found: list[str] = []
    for entry in given:
        match = _SERVER.fullmatch(entry)
        port = None if match is None else java_int(match[2])
        if match is None or port is None or port > _MOST_PORT:
            raise invalid("bootstrap.servers", entry, f"write each server as host:port, with a port of at most {_MOST_PORT}")
        # As in Java an empty name is this machine.
        host = match[1] or "localhost"
        found.append(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    return found


def whole_number(
    properties: Mapping[str, str], key: str, default: int = 0, *, kind: Literal["INT", "LONG"] = "INT", least: int | None = 0
) -> int:
    """Return a property's value as Kafka reads a number of the type ``kind``.

    Raises CdcError(CONFIG_INVALID), in Kafka's words, for another text and for less than ``least``.
    """
    text = properties.get(key, str(default)).strip()
    number = java_int(text) if kind == "INT" else java_long(text)
    if number is None:
        raise invalid(key, text, f"Not a number of type {kind}")
    if least is not None and number < least:
        raise invalid(key, text, f"Value must be at least {least}")
    return number


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
