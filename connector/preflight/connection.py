"""Why a connection cannot be had: the driver's words on the property that they are about, the reference's where it has any."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from connector.preflight.finding import LEAD, Finding

HOSTNAME: Final = "database.hostname"

_FATAL: Final = re.compile(r"FATAL:\s+(.*)")


@dataclass(frozen=True, slots=True)
class _Told:
    pattern: re.Pattern[str]
    key: str
    text: Callable[[re.Match[str], str], str]
    """Given the match and ``host:port``."""
    reference: bool = True


def _told(pattern: str, key: str, text: Callable[[re.Match[str], str], str], *, reference: bool = True) -> _Told:
    return _Told(re.compile(pattern, re.IGNORECASE), key, text, reference)


_TABLE: Final = (
    _told(
        r"refused",
        HOSTNAME,
        lambda _, address: (
            f"Connection to {address} refused. Check that the hostname and port are correct and that the postmaster is"
            " accepting TCP/IP connections."
        ),
    ),
    _told(
        r"server does not support SSL",
        "database.sslmode",
        lambda _, address: (
            f"The server does not support SSL. Turn it on at {address} (ALTER SYSTEM SET ssl = on; with certificate and key),"
            " or set database.sslmode to prefer"
        ),
    ),
    _told(
        r'root certificate file "(.*)" does not exist',
        "database.sslrootcert",
        lambda match, _: (
            f"Could not open SSL root certificate file {match[1]}."
            " Set database.sslrootcert to a file that the worker can read, or database.sslmode to require"
        ),
    ),
    _told(
        r'could not (?:read|load) root certificate file "(.*)"',
        "database.sslrootcert",
        lambda match, _: f"Loading the SSL root certificate {match[1]} into a TrustManager failed. Give the authority's certificate as PEM",
    ),
    _told(
        r"certificate verify failed",
        "database.sslrootcert",
        lambda _, address: (
            f"SSL error: no authority of database.sslrootcert signed the certificate of {address}."
            " Give the certificate of the authority that did, as PEM"
        ),
    ),
    _told(
        r'server certificate for "(.*)" .*does not match host name "(.*)"',
        "database.sslmode",
        lambda match, _: (
            f"The hostname {match[2]} could not be verified: the server's certificate is for {match[1]}."
            " Set database.hostname to a name of the certificate, or database.sslmode to verify-ca"
        ),
    ),
    _told(
        r'certificate present, but not private key file "(.*)"',
        "database.sslkey",
        lambda match, _: f"The private key file {match[1]} of the certificate in database.sslcert is not there. Set database.sslkey to it",
    ),
    _told(
        r'private key file "(.*)" has group or world access',
        "database.sslkey",
        lambda match, _: (
            f'private key file "{match[1]}" has group or world access; file must have permissions u=rw (0600) or less if owned by the'
            " current user, or permissions u=rw,g=r (0640) or less if owned by root."
        ),
    ),
    _told(
        r'(?:could not (?:load|read)|certificate does not match) private key file "([^"]*)"',
        "database.sslkey",
        lambda match, _: (
            f"The private key file {match[1]} cannot be used with the certificate in database.sslcert."
            " Set database.sslkey to that certificate's key, and database.sslpassword if it has a password"
        ),
    ),
    _told(
        r'could not (?:read|open) certificate file "(.*?)"',
        "database.sslcert",
        lambda match, _: f"The certificate file {match[1]} cannot be read. Set database.sslcert to a PEM file that the worker can read",
    ),
    _told(
        r"FATAL:\s+unsupported startup parameter: (\S+)",
        HOSTNAME,
        lambda match, address: (
            f"FATAL: unsupported startup parameter: {match[1]}. A connection pooler answers at {address}:"
            " set database.hostname and database.port to the server itself"
        ),
        # Its driver sends none of the parameters that poolers refuse.
        reference=False,
    ),
)
"""First match wins. Texts of libpq and, on the right, how the reference's driver tells the same."""


def refused(text: str, host: str, port: int, fallback: str) -> Finding:
    """The finding for libpq's message ``text``; ``fallback`` names the error when there is none."""
    for entry in _TABLE:
        match = entry.pattern.search(text)
        if match:
            return Finding(entry.key, LEAD + entry.text(match, f"{host}:{port}"), warning=False, reference=entry.reference)
    refusal = _FATAL.search(text)
    if refusal:
        return Finding(HOSTNAME, f"{LEAD}FATAL: {refusal.group(1).strip()}", warning=False, reference=True)
    told = f"{LEAD}The connection attempt failed. ({text.splitlines()[0] if text else fallback})"
    return Finding(HOSTNAME, told, warning=False, reference=True)


def server_words(text: str) -> str:
    """What the server said, without what libpq puts before it."""
    refusal = _FATAL.search(text)
    return refusal.group(1).strip() if refusal else (text.splitlines()[0] if text else "no reason given")
