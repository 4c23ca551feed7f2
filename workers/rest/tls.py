"""The TLS of https listeners: certificates and trusted certificates, from Connect's ``ssl.*`` properties.

As in Kafka Connect all settings come from the properties with the prefix ``listeners.https.`` (``admin.listeners.https.``) if there is
one, else from those without a prefix. Kafka Connect's server reads only Java's stores; this one reads only PEM, in the form of Kafka's
clients (KIP-651).
"""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Mapping
from typing import Final

from connector.errors import CdcError, ErrorKind

HONOURED: Final = frozenset(
    {
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
    }
)
IGNORED: Final = frozenset(
    {
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)
REFUSED: Final = {
    "ssl.cipher.suites": "OpenSSL does not know Java's names of cipher suites. Remove the property: weak suites are off.",
    "ssl.engine.factory.class": "Java classes cannot be loaded. Remove the property.",
    "ssl.keystore.password": "PEM has a password for the key only: ssl.key.password. Remove the property.",
    "ssl.truststore.password": "PEM has no password for certificates. Remove the property.",
}
"""Property → reason. They are refused with a listener's prefix only; without a prefix they may be meant for the Kafka clients."""

_CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_PEM_BLOCK: Final = re.compile(r"(-----BEGIN ([A-Z0-9 ]+)-----)(.*?)(-----END \2-----)", re.DOTALL)
_CONVERT: Final = {
    "keystore": "Convert it: openssl pkcs12 -in store.p12 -nodes -out store.pem (a JKS store becomes PKCS12 by keytool -importkeystore "
    "-srckeystore store.jks -destkeystore store.p12 -deststoretype PKCS12), then set the type to PEM.",
    "truststore": "Convert it: keytool -list -rfc -keystore store.jks > trust.pem, then set the type to PEM.",
}


def server_context(properties: Mapping[str, str], prefix: str) -> ssl.SSLContext:
    """The TLS context of the https listeners with this prefix. Without a truststore the keystore's certificates verify clients.

    Raises CdcError(CONFIG_INVALID) that names the property, for a store that is not PEM, is unreadable, or does not match the key.
    """
    prefix = prefix if any(key.startswith(prefix) for key in properties) else ""
    settings = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix + "ssl.")}
    for store in ("keystore", "truststore"):
        location = settings.get(f"ssl.{store}.location", "").strip()
        kind = settings.get(f"ssl.{store}.type", "JKS" if location else "PEM").strip().upper()
        if kind != "PEM":
            raise _invalid(f"{prefix}ssl.{store}.type", kind, "https listeners read PEM only", _CONVERT[store])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = _versions(settings, prefix)
    _load_chain(context, settings, prefix)
    wanted = settings.get("ssl.client.auth", "none").strip()
    if wanted not in _CLIENT_AUTH:
        raise _invalid(f"{prefix}ssl.client.auth", wanted, f"choose one of {', '.join(_CLIENT_AUTH)}")
    if wanted != "none":
        _load_trust(context, settings, prefix)
    context.verify_mode = _CLIENT_AUTH[wanted]
    return context


def client_context(properties: Mapping[str, str], prefix: str) -> ssl.SSLContext:
    """The TLS context for calls to other workers of the group, with this worker's certificate for workers that request one.

    As in Kafka Connect the settings are those of the listeners. Without a truststore the keystore's certificates verify the other
    workers. The properties must have passed :func:`server_context`.
    """
    prefix = prefix if any(key.startswith(prefix) for key in properties) else ""
    settings = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix + "ssl.")}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version, context.maximum_version = _versions(settings, prefix)
    _load_chain(context, settings, prefix)
    _load_trust(context, settings, prefix)
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https").strip() != ""
    return context


def _versions(settings: Mapping[str, str], prefix: str) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    names = settings.get("ssl.enabled.protocols", ",".join(_VERSIONS))
    versions = [_VERSIONS.get(name.strip()) for name in names.split(",")]
    known = [version for version in versions if version is not None]
    if len(known) != len(versions):
        raise _invalid(f"{prefix}ssl.enabled.protocols", names, f"choose from {', '.join(_VERSIONS)}")
    return min(known), max(known)


def _load_chain(context: ssl.SSLContext, settings: Mapping[str, str], prefix: str) -> None:
    # With None as password OpenSSL would prompt for one on the terminal.
    password = settings.get("ssl.key.password", "")
    location, inline = settings.get("ssl.keystore.location", "").strip(), _inline_chain(settings)
    if not location and not inline:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"An https listener has no certificate: the worker property {prefix}ssl.keystore.location is missing",
            "Name a PEM file with the key and its certificates, and set the type to PEM.",
        )
    try:
        if location:
            context.load_cert_chain(location, password=password)
            return
        # The ssl module reads files only. Only this user can read this one, and it is removed at once.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(inline)
            file.flush()
            context.load_cert_chain(file.name, password=password)
    except (OSError, ValueError) as problem:
        raise _unreadable(f"{prefix}ssl.keystore", "a key and the certificates that belong to it", problem) from problem


def _load_trust(context: ssl.SSLContext, settings: Mapping[str, str], prefix: str) -> None:
    own = settings.get("ssl.keystore.location", "").strip() or None, settings.get("ssl.keystore.certificate.chain") or None
    given = settings.get("ssl.truststore.location", "").strip() or None, settings.get("ssl.truststore.certificates") or None
    file, text = given if any(given) else own
    try:
        context.load_verify_locations(cafile=file, cadata=_blocks(text) if text and not file else None)
    except (OSError, ValueError) as problem:
        raise _unreadable(f"{prefix}ssl.truststore", "certificates", problem) from problem


def _inline_chain(settings: Mapping[str, str]) -> str:
    key, chain = settings.get("ssl.keystore.key", ""), settings.get("ssl.keystore.certificate.chain", "")
    return _blocks(f"{key}\n{chain}") if key and chain else ""


def _blocks(text: str) -> str:
    """The PEM blocks of a property's value. In a value of one line, spaces stand for line ends."""
    found: list[str] = []
    for begin, _, body, end in _PEM_BLOCK.findall(text):
        found += [begin, body.strip() if "\n" in body.strip() else "\n".join(body.split()), end, ""]
    return "\n".join(found)


def _invalid(key: str, value: str, why: str, remedy: str = "") -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, f"Invalid value {value} for the worker property {key}: {why}", remedy)


def _unreadable(keys: str, holds: str, problem: Exception) -> CdcError:
    # OpenSSL's own text holds no file name and no secret.
    detail = getattr(problem, "strerror", None) or type(problem).__name__
    return CdcError(
        ErrorKind.CONFIG_INVALID,
        f"The store of the worker properties {keys}.* cannot be used",
        f"It must be readable PEM: {holds}. An encrypted key needs ssl.key.password.",
        str(detail),
    )
