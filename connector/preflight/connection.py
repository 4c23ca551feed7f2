"""Findings about failed connections: each libpq message becomes a finding for the property that caused it, in Debezium's words if any."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from connector.preflight.finding import LEAD, Finding
from connector.preflight.tls_files import SENTENCES, named_property, property_of

HOSTNAME: Final = "database.hostname"

_FATAL: Final = re.compile(r"FATAL:\s+(.*)")


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    key: str
    text: Callable[[re.Match[str], str], str]
    """Returns the finding's text, given the match and ``host:port``."""
    reference: bool = True


def _rule(pattern: str, key: str, text: Callable[[re.Match[str], str], str], *, reference: bool = True) -> _Rule:
    return _Rule(re.compile(pattern, re.IGNORECASE), key, text, reference)


_TABLE: Final = (
    _rule(
        r"refused",
        HOSTNAME,
        lambda _, address: (
            f"Connection to {address} refused. Check that the hostname and port are correct and that the postmaster is"
            " accepting TCP/IP connections."
        ),
    ),
    _rule(
        r"server does not support SSL",
        "database.sslmode",
        lambda _, address: (
            f"The server does not support SSL. Turn it on at {address} (ALTER SYSTEM SET ssl = on; with certificate and key),"
            " or set database.sslmode to prefer"
        ),
    ),
    _rule(
        r"certificate verify failed",
        "database.sslrootcert",
        lambda _, address: (
            f"SSL error: no authority of database.sslrootcert signed the certificate of {address}."
            " Give the certificate of the authority that did, as PEM"
        ),
    ),
    _rule(
        r'server certificate for "(.*)" .*does not match host name "(.*)"',
        "database.sslmode",
        lambda match, _: (
            f"The hostname {match[2]} could not be verified: the server's certificate is for {match[1]}."
            " Set database.hostname to a name of the certificate, or database.sslmode to verify-ca"
        ),
    ),
    _rule(
        r"FATAL:\s+unsupported startup parameter: (\S+)",
        HOSTNAME,
        lambda match, address: (
            f"FATAL: unsupported startup parameter: {match[1]}. A connection pooler answers at {address}:"
            " set database.hostname and database.port to the server itself"
        ),
        # Debezium's driver sends none of the parameters that poolers refuse.
        reference=False,
    ),
)
"""Patterns for libpq's messages, and the texts of the findings, which are those of Debezium's driver where it has one. The first match
applies."""


def refused(text: str, host: str, port: int, fallback: str) -> Finding:
    """Return the finding for libpq's message ``text``; if ``text`` is empty, the finding names ``fallback``."""
    file = named_property(text) or property_of(text)
    if file is not None:
        return Finding(file, LEAD + SENTENCES[file], warning=False)
    for entry in _TABLE:
        match = entry.pattern.search(text)
        if match:
            return Finding(entry.key, LEAD + entry.text(match, f"{host}:{port}"), warning=False, reference=entry.reference)
    refusal = _FATAL.search(text)
    if refusal:
        return Finding(HOSTNAME, f"{LEAD}FATAL: {refusal.group(1).strip()}", warning=False, reference=True)
    message = f"{LEAD}The connection attempt failed. ({text.splitlines()[0] if text else fallback})"
    return Finding(HOSTNAME, message, warning=False, reference=True)


def server_words(text: str) -> str:
    """Return the server's message without libpq's prefix."""
    refusal = _FATAL.search(text)
    return refusal.group(1).strip() if refusal else (text.splitlines()[0] if text else "no reason given")
