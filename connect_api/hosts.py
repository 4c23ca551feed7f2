"""The header ``Host``: its form, and the hosts that a worker answers for (against DNS rebinding).

Any site can make its own name resolve to this worker's address. The browser then treats the worker as part of that site and lets the
site's pages read all answers. Only the ``Host`` of such a request shows this: it is the other site's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from connect_api.request_error import RequestError

MISDIRECTED: Final = 421

# RFC 3986, 3.2.2 and 3.2.3. As in Kafka Connect an IPv6 address without brackets is accepted too.
_HOST: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]+)(?::[0-9]{0,5})?)|([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)")


class AllowedHosts:
    """The hosts that requests may name: ``names``, in any case and with any port, and always ``localhost`` and IP addresses.

    The latter are safe, because the page of another site cannot have them as its own host.
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
    """The name in a ``Host`` header in lower case, without port, brackets and the root's dot; None for a malformed header."""
    found = _HOST.fullmatch(header)
    if found is None:
        return None
    return (found[1] or found[2]).strip("[]").removesuffix(".").lower()


def single_host(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The host of an HTTP/1.1 request. Raises :class:`RequestError` unless there is exactly one well-formed header (RFC 9112, 3.2)."""
    given = [value for name, value in headers if name == b"host"]
    name = host_name(given[0].decode("latin-1").strip()) if len(given) == 1 else None
    if name is None:
        raise RequestError("The request must have exactly one Host header, with a host and optionally a port. Correct the header.")
    return name


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
