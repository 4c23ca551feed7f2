"""Converts Kafka's ``ssl.*`` properties to a TLS context. Only PEM is supported, because Java's key stores cannot be read without Java."""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Mapping
from typing import Final

from connector.errors import CdcError, ErrorKind
from connector.io.regular_file import check_regular
from connector.java.trim import trim
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_PEM_MARK: Final = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]+)-----")
"""The lines around a PEM block (RFC 7468). A pattern for a whole block would search the rest of the text for each BEGIN without an END."""
_PAIR: Final = ("ssl.keystore.key", "ssl.keystore.certificate.chain")
_CONVERT: Final = {
    "keystore": "Convert it: openssl pkcs12 -in store.p12 -nodes -out store.pem (a JKS store becomes PKCS12 by keytool -importkeystore "
    "-srckeystore store.jks -destkeystore store.p12 -deststoretype PKCS12), then name store.pem and set {key}.type=PEM",
    "truststore": "Convert it: keytool -list -rfc -keystore store.jks > trust.pem (or openssl pkcs12 -in store.p12 -nokeys -out "
    "trust.pem), then name trust.pem and set {key}.type=PEM",
}


def client_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return a client's TLS context: the trusted authorities (without a truststore the system's) and the client's certificate, if any.

    Raises CdcError(CONFIG_INVALID), which names the property, for a store that is not PEM or cannot be read, for trusted certificates
    without a PEM block, and for a key or a chain without the other. Connectors can name such files too, so the error's text does not depend
    on what is wrong with a file. Only the log has the reason.
    """
    _check_stores(properties)
    trusted = properties.get("ssl.truststore.certificates", "")
    authorities = _blocks(trusted)
    if trusted.strip() and not authorities:
        # Without authorities the context would trust those of the system.
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            "The property ssl.truststore.certificates holds no certificate in PEM form",
            "Write each certificate with its lines -----BEGIN CERTIFICATE----- and -----END CERTIFICATE-----.",
        )
    try:
        for name in ("ssl.truststore.location", "ssl.keystore.location"):
            if location := properties.get(name, "").strip():
                check_regular(location)
        context = ssl.create_default_context(
            cafile=properties.get("ssl.truststore.location", "").strip() or None,
            cadata=authorities or None,
        )
        _load_own_certificate(context, properties)
    except (OSError, ValueError) as problem:
        # OpenSSL's message contains no file name and no secret.
        LOG.warning("cannot use ssl.truststore.* or ssl.keystore.*", reason=getattr(problem, "strerror", None) or type(problem).__name__)
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            "What ssl.truststore.* or ssl.keystore.* names cannot be used",
            "It must be readable PEM: certificates in the truststore, key and chain in the keystore. "
            "An encrypted key needs ssl.key.password. The worker's log says what is wrong.",
        ) from None
    context.minimum_version, context.maximum_version = _versions(properties)
    # An empty value switches the check of the broker's name off, as in Kafka (KIP-294).
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https").strip() != ""
    return context


def _check_stores(properties: Mapping[str, str]) -> None:
    """Refuse stores that are not PEM, and half of a pair of key and chain."""
    for store in ("truststore", "keystore"):
        key = f"ssl.{store}"
        usual = "JKS" if properties.get(f"{key}.location", "").strip() else "PEM"
        kind = properties.get(f"{key}.type", "").strip().upper() or usual
        if kind != "PEM":
            raise CdcError(
                ErrorKind.CONFIG_INVALID,
                f"Invalid value {kind} for configuration {key}.type: Only PEM can be read here",
                _CONVERT[store].format(key=key),
            )
    key, chain = (properties.get(name, "").strip() for name in _PAIR)
    if bool(key) != bool(chain):
        given, missing = _PAIR if key else reversed(_PAIR)
        raise CdcError(ErrorKind.CONFIG_INVALID, f"The property {given} is set without {missing}", "Set both, or neither.")


def _versions(properties: Mapping[str, str]) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    names = properties.get("ssl.enabled.protocols", "").strip() or ",".join(_VERSIONS)
    known = [_VERSIONS.get(name.strip()) for name in names.split(",")]
    if None in known:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {names} for configuration ssl.enabled.protocols: Choose from {', '.join(_VERSIONS)}",
        )
    versions = [version for version in known if version is not None]
    return min(versions), max(versions)


def _load_own_certificate(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    # Without a password OpenSSL would ask for one on the terminal.
    password = trim(properties.get("ssl.key.password", ""))
    if location := properties.get("ssl.keystore.location", "").strip():
        context.load_cert_chain(location, password=password)
        return
    key, chain = (properties.get(name, "") for name in _PAIR)
    if key.strip():
        # The ssl module reads only files, so the inline PEM (KIP-651) is written to a private temporary file.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(_blocks(f"{key}\n{chain}"))
            file.flush()
            context.load_cert_chain(file.name, password=password)


def _blocks(text: str) -> str:
    """Return the PEM blocks of a property's value. A block in one line has spaces in place of a file's line ends, which this restores."""
    found: list[str] = []
    begin: re.Match[str] | None = None
    for mark in _PEM_MARK.finditer(text):
        if mark[1] == "BEGIN":
            begin = mark
        elif begin is not None and begin[2] == mark[2]:
            body = text[begin.end() : mark.start()].strip()
            found += [begin[0], body if "\n" in body else "\n".join(body.split()), mark[0], ""]
            begin = None
    return "\n".join(found)
