"""The header ``Host``: its form, and which hosts a worker answers for (against DNS rebinding).

A page of any site can let its own name lead to this worker's address; the browser then takes the worker for a part of that site
and lets the page read all answers. Only the ``Host`` of such a request tells: it is the other site's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from connect_api.errors import RequestError

MISDIRECTED: Final = 421

# RFC 3986, 3.2.2 and 3.2.3; an IPv6 address without brackets is taken too, as the reference takes it.
_HOST: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]+)(?::[0-9]{0,5})?)|([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)")


class AllowedHosts:
    """``names`` of hosts, in any case, ports passed over. ``localhost`` and IP addresses are always allowed.

    They may be: a page cannot be of another site and have them as its own host.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {"localhost", *(host_name(name) or name for name in names)}

    def check(self, name: str) -> None:
        """Raises :class:`RequestError` (421) unless ``name``, as :func:`host_name` gives it, is allowed."""
        if name not in self._names and not _is_address(name):
            raise RequestError(
                f"The worker does not answer for the host {name}. Call it by a name that its property rest.allowed.hosts lists, "
                "or add the name there.",
                status=MISDIRECTED,
            )


def host_name(header: str) -> str | None:
    """The name in a ``Host`` header in lower case, without port, brackets and the root's dot; None for what is no host."""
    found = _HOST.fullmatch(header)
    if found is None:
        return None
    return (found[1] or found[2]).strip("[]").removesuffix(".").lower()


def single_host(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The host of an HTTP/1.1 request. Raises :class:`RequestError` unless there is exactly one, well-formed (RFC 9112, 3.2)."""
    given = [value for name, value in headers if name == b"host"]
    name = host_name(given[0].decode("latin-1").strip()) if len(given) == 1 else None
    if name is None:
        raise RequestError("The request must have one Host header with a host, and a port if need be. Correct the header.")
    return name


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
