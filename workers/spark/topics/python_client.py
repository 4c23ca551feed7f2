"""The settings of Kafka's client in Python that connects as Spark's source does.

See https://kafka.apache.org/documentation/#consumerconfigs.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Any, Final

_PREFIX: Final = "kafka."
_LOGIN: Final = re.compile(r'\s*\S+\.(?:Plain|Scram)LoginModule\s+required\s+username="([^"\\]*)"\s+password="([^"\\]*)"\s*;\s*')
_MECHANISMS: Final = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
_PROTOCOLS: Final = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}
_STORES: Final = ("ssl.truststore.", "ssl.keystore.")
_USED: Final = {
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "ssl.endpoint.identification.algorithm",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.key.password",
}
"""The options of the connection that are understood here."""
_NEUTRAL: Final = re.compile(
    r"(isolation\.level|client\.id|check\.crcs|((fetch|heartbeat|max|metadata|receive|reconnect|request|retry|send|session)\..*)"
    r"|connections\.max\.idle\.ms|default\.api\.timeout\.ms|socket\.connection\.setup\.timeout(\.max)?\.ms)"
)
"""Those that do not decide whether there is a connection, and to whom; and the isolation level, which is understood."""


def client_settings(bootstrap: str, options: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Arguments of :class:`aiokafka.AIOKafkaConsumer`, for the ``options`` of Spark's Kafka source.

    None if the source connects in a way that is not understood here: with Java's own key stores, by Kerberos or with tokens. It then is
    the only reader, as it also is if a file of certificates cannot be read, so that its error is seen.
    """
    given = {name.removeprefix(_PREFIX): value for name, value in options.items() if name.startswith(_PREFIX)}
    if any(name not in _USED and not _NEUTRAL.fullmatch(name) for name in given):
        return None
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    level = given.get("isolation.level", "read_committed")
    if protocol not in _PROTOCOLS or level not in {"read_committed", "read_uncommitted"}:
        return None
    settings: dict[str, Any] = {"bootstrap_servers": bootstrap, "security_protocol": protocol, "isolation_level": level}
    if protocol.startswith("SASL"):
        login = _LOGIN.fullmatch(given.get("sasl.jaas.config", ""))
        mechanism = given.get("sasl.mechanism", "")
        if login is None or mechanism not in _MECHANISMS:
            return None
        settings |= {"sasl_mechanism": mechanism, "sasl_plain_username": login[1], "sasl_plain_password": login[2]}
    if protocol.endswith("SSL"):
        context = _context(given)
        if context is None:
            return None
        settings["ssl_context"] = context
    return settings


def _context(given: Mapping[str, str]) -> ssl.SSLContext | None:
    """The certificates of the options; None if they are not in files of PEM."""
    trusted, own = (given.get(f"{store}location") for store in _STORES)
    if any(place and given.get(f"{store}type", "").upper() != "PEM" for store, place in zip(_STORES, (trusted, own), strict=True)):
        return None
    try:
        context = ssl.create_default_context(cafile=trusted)
        if own is not None:
            # Without a password, Python would ask for that of an encrypted key on the terminal.
            context.load_cert_chain(own, password=given.get("ssl.key.password", ""))
    except (OSError, ValueError):
        return None
    context.check_hostname = given.get("ssl.endpoint.identification.algorithm", "https") != ""
    return context
