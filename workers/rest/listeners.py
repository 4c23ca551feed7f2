"""The addresses that the REST interface listens on, and the address that the worker advertises."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from connector.errors import CdcError, ErrorKind

_SCHEMES: Final = ("http", "https")


@dataclass(frozen=True, slots=True)
class Listener:
    """An address the REST interface listens on. ``host`` is empty for all addresses."""

    host: str
    port: int
    https: bool = False

    def __str__(self) -> str:
        return f"{'https://' if self.https else ''}{self.host or '*'}:{self.port}"


def listeners(properties: Mapping[str, str]) -> tuple[Listener, ...]:
    """The addresses of ``listeners``; without it those of its former names, else Connect's default.

    Raises CdcError(CONFIG_INVALID) that names the property and the part that is not an address.
    """
    text = properties.get("listeners", "").strip()
    if text:
        return _parsed("listeners", text)
    # Kafka Connect removed rest.host.name and rest.port in 3.0. Old properties files still hold them.
    return (Listener(properties.get("rest.host.name", "").strip(), _port(properties, "rest.port", 8083, 0)),)


def admin_listeners(properties: Mapping[str, str]) -> tuple[Listener, ...] | None:
    """The addresses that serve only ``/admin``: None when ``listeners`` serve it too, empty when no address serves it.

    Raises CdcError(CONFIG_INVALID) as :func:`listeners`.
    """
    text = properties.get("admin.listeners")
    if text is None:
        return None
    return _parsed("admin.listeners", text) if text.strip() else ()


def advertised(properties: Mapping[str, str], served: Sequence[Listener]) -> tuple[str, str, int]:
    """Scheme, host and port by which other workers reach this one: those of ``rest.advertised.*``, else those of a listener.

    The listener is the first with the advertised scheme. Without ``rest.advertised.listener`` the scheme is http if any listener
    has it, else https. Kafka Connect does the same, whatever the order of the listeners. A listener on all addresses has the address of
    this machine's name, which other workers can reach even if they do not know the name.
    """
    default = "http" if any(not listener.https for listener in served) else "https"
    scheme = properties.get("rest.advertised.listener", default).strip().lower()
    if scheme not in _SCHEMES:
        raise _invalid("rest.advertised.listener", scheme, "It must be http or https")
    chosen = next((listener for listener in served if listener.https == (scheme == "https")), served[0])
    host = properties.get("rest.advertised.host.name", "").strip() or chosen.host or _own_address()
    return "https" if chosen.https else "http", host, _port(properties, "rest.advertised.port", chosen.port, 1 if chosen.port else 0)


def _own_address() -> str:
    """The address that this machine's name has, or the name itself where it has none that other machines can reach.

    Debian gives the name the address 127.0.1.1, at which each worker of a group would find itself.
    """
    name = socket.gethostname()
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return name
    # IPv4 first, as in Java.
    for _, _, _, _, (address, *_) in sorted(found, key=lambda entry: entry[0] != socket.AF_INET):
        parsed = ip_address(str(address))
        if not (parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified):
            return str(parsed)
    return name


def _parsed(key: str, text: str) -> tuple[Listener, ...]:
    found: list[Listener] = []
    for part in text.split(","):
        try:
            url = urlsplit(part.strip())
            scheme, port = url.scheme.lower(), url.port
        except ValueError:
            url, scheme, port = urlsplit(""), "", None
        if scheme not in _SCHEMES or port is None:
            raise CdcError(
                ErrorKind.CONFIG_INVALID,
                f"The worker property {key} holds {part.strip() or 'an empty part'}",
                "Write it as http://host:port or https://host:port.",
            )
        host = url.hostname or ""
        found.append(Listener("" if host in ("0.0.0.0", "::") else host, port, scheme == "https"))  # noqa: S104
    return tuple(found)


def _port(properties: Mapping[str, str], key: str, default: int, least: int) -> int:
    text = properties.get(key, str(default)).strip()
    if not text.isdecimal() or not least <= int(text) <= 65_535:
        raise _invalid(key, text, f"It must be a port, from {least} to 65535")
    return int(text)


def _invalid(key: str, value: str, remedy: str) -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, f"Invalid value {value} for the worker property {key}: {remedy}")
