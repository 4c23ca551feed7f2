"""The system's proxy for a Java program: Java does not read ``https_proxy``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

_OWN_OPTIONS: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_LOOPBACK: Final = ("localhost", "127.*", "[::1]")


def proxy_options(environment: Mapping[str, str] = os.environ, proxies: Mapping[str, str] | None = None) -> list[str]:
    """Return Java's options for the proxies that ``proxies`` names (by default the system's, from ``https_proxy``, ``no_proxy``, …).

    The options have no name and no password of a proxy, because other users can read a process's arguments. Java's options in
    ``environment`` (``JAVA_TOOL_OPTIONS``, …) that name a proxy take precedence.
    """
    if any("proxyHost" in environment.get(name, "") for name in _OWN_OPTIONS):
        return []
    given = getproxies() if proxies is None else proxies
    spared = [entry.strip() for entry in given.get("no", "").split(",") if entry.strip()]
    if "*" in spared:
        return []
    found = []
    for scheme, port in (("http", 80), ("https", 443)):
        address = given.get(scheme) or given.get("all")
        if address and (place := _host_and_port(address, port)):
            found += [f"-D{scheme}.proxyHost={place[0]}", f"-D{scheme}.proxyPort={place[1]}"]
    # Java uses this property for https too.
    return [*found, f"-Dhttp.nonProxyHosts={'|'.join((*_LOOPBACK, *_patterns(spared)))}"] if found else []


def _host_and_port(address: str, default: int) -> tuple[str, int] | None:
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        return (parts.hostname, parts.port or default) if parts.hostname and not parts.scheme.startswith("socks") else None
    except ValueError:
        return None


def _patterns(spared: list[str]) -> list[str]:
    """An entry means the host and the hosts below it. Java has no form for an address range."""
    names = [entry.lstrip("*").lstrip(".") for entry in spared if "/" not in entry]
    return [pattern for name in names if name for pattern in (name, f"*.{name}")]
