"""Kafka's client properties as aiokafka's arguments, for every client of the worker and of its tasks."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Any, Final

from connector.errors import CdcError, ErrorKind

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_JAAS_OPTION: Final = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([^\s;]+))')
_PEM_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


def client_arguments(properties: Mapping[str, str]) -> dict[str, Any]:
    """Arguments that aiokafka's consumer, producer and admin client share. Times in ``properties`` are milliseconds.

    Raises CdcError(CONFIG_INVALID) that names the property for what has no counterpart (JKS stores, GSSAPI, OAUTHBEARER).
    """
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in _PROTOCOLS:
        raise _invalid("security.protocol", protocol, f"choose one of {', '.join(_PROTOCOLS)}")
    options: dict[str, Any] = {
        "bootstrap_servers": [part.strip() for part in properties.get("bootstrap.servers", "localhost:9092").split(",") if part.strip()],
        "security_protocol": protocol,
    }
    for key, argument in (
        ("request.timeout.ms", "request_timeout_ms"),
        ("metadata.max.age.ms", "metadata_max_age_ms"),
        ("connections.max.idle.ms", "connections_max_idle_ms"),
        ("retry.backoff.ms", "retry_backoff_ms"),
    ):
        if key in properties:
            if not properties[key].strip().isdigit():
                raise _invalid(key, properties[key], "write a whole number of milliseconds")
            options[argument] = int(properties[key])
    if protocol.startswith("SASL"):
        options.update(_sasl(properties))
    if protocol.endswith("SSL"):
        options["ssl_context"] = _ssl_context(properties)
    return options


def _invalid(key: str, value: str, mend: str) -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, f"Invalid value {value} for configuration {key}: {mend}")


def _sasl(properties: Mapping[str, str]) -> dict[str, str]:
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip().upper()
    if mechanism not in _MECHANISMS:
        raise _invalid("sasl.mechanism", mechanism, f"choose one of {', '.join(_MECHANISMS)}")
    found = {m[1]: m[2] or m[3] or m[4] or "" for m in _JAAS_OPTION.finditer(properties.get("sasl.jaas.config", ""))}
    if "username" not in found or "password" not in found:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            "The property sasl.jaas.config holds no username and password",
            'Write it as: org.apache.kafka.common.security.plain.PlainLoginModule required username="…" password="…";',
        )
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": re.sub(r"\\(.)", r"\1", found["username"]),
        "sasl_plain_password": re.sub(r"\\(.)", r"\1", found["password"]),
    }


def _ssl_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    for key in ("ssl.truststore", "ssl.keystore"):
        kind = properties.get(f"{key}.type", "PEM" if f"{key}.location" not in properties else "JKS").strip().upper()
        if kind != "PEM":
            raise _invalid(f"{key}.type", kind, f"convert the store to PEM and set {key}.type=PEM")
    try:
        context = ssl.create_default_context(
            cafile=properties.get("ssl.truststore.location"), cadata=properties.get("ssl.truststore.certificates")
        )
        _load_own_certificate(context, properties)
    except (OSError, ssl.SSLError) as problem:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            "The files named by ssl.truststore.* or ssl.keystore.* cannot be used",
            "They must be readable PEM files: certificates in the truststore, key and chain in the keystore.",
            problem.strerror or type(problem).__name__,
        ) from problem
    # An empty value switches the check of the broker's name off, as in Kafka (KIP-294).
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https").strip() != ""
    return context


def _load_own_certificate(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    password = properties.get("ssl.key.password")
    if location := properties.get("ssl.keystore.location"):
        context.load_cert_chain(location, password=password)
        return
    key, chain = properties.get("ssl.keystore.key"), properties.get("ssl.keystore.certificate.chain")
    if key and chain:
        import tempfile  # noqa: PLC0415 (used once at start, and only with an inline key)

        # The ssl module reads files only: the inline PEM (KIP-651) passes through one that is ours alone and removed at once.
        blocks = "\n".join(m[0] for m in _PEM_BLOCK.finditer(key + "\n" + chain))
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(blocks + "\n")
            file.flush()
            context.load_cert_chain(file.name, password=password)
