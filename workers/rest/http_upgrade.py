"""Uvicorn's HTTP/1.1, for callers that offer another protocol with their first request.

Java's own HTTP client, and therefore Strimzi's operator, sends ``Upgrade: h2c`` with the first request to an http address. A server
without HTTP/2 must ignore the header (RFC 9110, 7.8). httptools ends such a request after its head, so its body would be lost or read as
the next request.
"""

from __future__ import annotations

from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_CONNECT: Final = b"CONNECT"


class DecliningProtocol(HttpToolsProtocol):
    """Answers in HTTP/1.1 to every offer of another protocol. Requests without an offer are not affected."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.parser = _Parser(self)  # type: ignore[assignment] # it has all methods that uvicorn calls

    def on_headers_complete(self) -> None:
        """Begin the answer, except for a request with an offer, which is parsed a second time without it."""
        if not _offers(self.parser):
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the body, unless httptools ended it because of the offer."""
        if not _offers(self.parser):
            super().on_message_complete()


class _Parser:
    """httptools' parser. It parses a request with an offer again, without the offer."""

    def __init__(self, protocol: DecliningProtocol) -> None:
        self._protocol = protocol
        self._parser = _fresh(protocol)

    def feed_data(self, data: bytes) -> None:
        """Parse. Raises HttpParserError for malformed HTTP, and HttpParserUpgrade for CONNECT only."""
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                if not _offers(self._parser):
                    raise
                data = self._head() + data[upgrade.args[0] :]
                self._parser = _fresh(self._protocol)
            else:
                return

    def get_http_version(self) -> str:
        return self._parser.get_http_version()

    def get_method(self) -> bytes:
        return self._parser.get_method()

    def should_keep_alive(self) -> bool:
        return self._parser.should_keep_alive()

    def should_upgrade(self) -> bool:
        return self._parser.should_upgrade()

    def _head(self) -> bytes:
        """The request's head as it was received, without the offer."""
        kept = (name + b": " + value + b"\r\n" for name, value in self._protocol.headers if name != b"upgrade")
        first = b"%b %b HTTP/%b\r\n" % (self.get_method(), self._protocol.url, self.get_http_version().encode())
        return first + b"".join(kept) + b"\r\n"


def _fresh(protocol: DecliningProtocol) -> httptools.HttpRequestParser:
    parser = httptools.HttpRequestParser(protocol)
    # As in uvicorn: bytes that follow the last request must not prevent the answer.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def _offers(parser: httptools.HttpRequestParser | _Parser) -> bool:
    # httptools reports an upgrade for CONNECT too.
    return parser.should_upgrade() and parser.get_method() != _CONNECT
