"""Headers that let pages of other origins read the answers (the fetch standard's CORS), as Connect's own server sends them.

A regular expression that matches the whole origin, in any case, allows it; ``*`` allows all. Every request is answered: the browser
withholds an answer without these headers from the page. Credentials are never allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

Header = tuple[bytes, bytes]

DEFAULT_METHODS: Final = "GET,POST,HEAD"
_MAX_AGE: Final = b"60"
_VARY: Final = (b"vary", b"Origin")


class CrossOrigin:
    """``allows``: whether an origin is allowed; None allows all. ``methods`` is sent as it is."""

    def __init__(self, allows: Callable[[str], bool] | None, methods: str = DEFAULT_METHODS) -> None:
        self._allowed = allows
        self._preflight: tuple[Header, ...] = (
            (b"access-control-allow-methods", methods.encode("latin-1")),
            (b"access-control-allow-headers", b"Content-Type"),
            (b"access-control-max-age", _MAX_AGE),
        )

    def headers(self, method: str, request: Iterable[Header]) -> list[Header]:
        """The headers to add to the answer to a request with these headers. A preflight's answer lists all allowed methods."""
        given = dict(request)
        origin = given.get(b"origin")
        if not origin or not self.allows(origin.decode("latin-1")):
            return [_VARY]
        asks = method == "OPTIONS" and b"access-control-request-method" in given
        return [_VARY, (b"access-control-allow-origin", origin), *(self._preflight if asks else ())]

    def allows(self, origin: str) -> bool:
        """Whether the value of a header ``Origin`` is allowed."""
        # A header may list several origins (RFC 6454, 7.1); one that is allowed is enough.
        return self._allowed is None or any(map(self._allowed, origin.split()))
