"""The address of the notification channel ``http``: its form, and the addresses to which the channel may post."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from connector.configdef.key import Key, Settings

_HOST: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
_INVALID: Final = "HTTP notification URL must be a valid http(s) URL with a host"


def http_target(_key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require an address for the channel, if it is enabled.

    Addresses of this machine and of private networks are refused unless ``notification.http.allow.private.networks`` is set. Names of hosts
    are resolved when the channel posts. Debezium resolves them here.
    """
    if "http" not in (entry.strip() for entry in settings.get("notification.enabled.channels", "").split(",")):
        return
    if not value:
        yield "HTTP notification URL must be provided when the 'http' notification channel is enabled"
        return
    host = host_of(value)
    if host is None:
        yield _INVALID
    elif settings.get("notification.http.allow.private.networks", "false").strip().lower() != "true" and is_private(host):
        yield f"URL resolves to non-public address: {shown_address(host)}"


def host_of(url: str) -> str | None:
    """Return the host of an address that begins with ``http://`` or ``https://``; None for any other text."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not url.startswith(("http://", "https://")) or not host or " " in url:
        return None
    return host if ":" in host or set(host) <= _HOST else None


def is_private(host: str) -> bool:
    """Return whether ``host`` is this machine's name, or an address that is not public."""
    if host == "localhost":
        return True
    try:
        return not ip_address(host).is_global
    except ValueError:
        return False


def shown_address(host: str) -> str:
    """Return the address as Java prints it: eight groups without leading zeros for IPv6."""
    address = ip_address("127.0.0.1" if host == "localhost" else host)
    if address.version == 4:
        return str(address)
    return ":".join(group.lstrip("0") or "0" for group in address.exploded.split(":"))
