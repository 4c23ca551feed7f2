"""The machine's certificate authorities in a form that Java reads.

A Java from a wheel has its own list of authorities, without those that an administrator added to the machine's (such as a company's
proxy). The file is a JKS key store as OpenJDK's ``sun.security.provider.JavaKeyStore`` defines it, and is written without keytool.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

PASSWORD: Final = "changeit"  # noqa: S105 - Java's public default; it protects nothing but the file's form
BUNDLES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem")
"""The usual paths on Debian, Red Hat, SUSE, and the BSDs and macOS."""
BEGIN: Final = "-----BEGIN CERTIFICATE-----"
END: Final = "-----END CERTIFICATE-----"


def machine_bundle(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The machine's PEM file of authorities: ``SSL_CERT_FILE``, or the first of the usual places; None when there is none."""
    usual = [environment.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *BUNDLES]
    return next((Path(place) for place in usual if place and Path(place).is_file()), None)


def certificates(bundle: str) -> list[bytes]:
    """The certificates of a PEM text in DER, without the text between them."""
    blocks = (part.partition(END)[0] for part in bundle.split(BEGIN)[1:])
    return [ssl.PEM_cert_to_DER_cert(f"{BEGIN}\n{block.strip()}\n{END}\n") for block in blocks]


def key_store(authorities: Iterable[bytes]) -> bytes:
    """A JKS key store, password :data:`PASSWORD`, that trusts these certificates (DER)."""
    entries = list(authorities)
    store = struct.pack(">III", 0xFEEDFEED, 2, len(entries))
    for number, certificate in enumerate(entries):
        # Tag 2 is a trusted certificate; the date counts milliseconds.
        store += struct.pack(">I", 2) + _text(f"authority-{number}") + struct.pack(">Q", 0)
        store += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    # The phrase is part of the format.
    return store + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + store).digest()  # noqa: S324 - the format's own sum


def _text(words: str) -> bytes:
    return struct.pack(">H", len(words)) + words.encode("ascii")
