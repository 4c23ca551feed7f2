"""Request paths in one spelling, so that a route matches however a client encodes the path.

Routes are matched against the path *before* percent-decoding, and each ``{name:segment}`` is decoded by itself. So a connector
whose name contains a slash or a percent sign can be addressed (``/connectors/a%2Fb``), which Kafka Connect refuses.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote, unquote_to_bytes

from starlette.convertors import Convertor, register_url_convertor

from connect_api.request_error import RequestError

PLAIN: Final = "~!$&'()*+,=:@"
"""The characters that a path segment may hold unencoded (RFC 3986, 3.3), without ``;``, which begins a matrix parameter."""


class Segment(Convertor[str]):
    """The convertor of ``{name:segment}``: one path segment, percent-decoded."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Decode a segment, which is UTF-8: :func:`canonical` refuses others."""
        return unquote(value)

    def to_string(self, value: str) -> str:
        """Encode for use in a URL."""
        return encode(value)


def encode(name: str) -> str:
    """Write a connector's name as one path segment of a URL."""
    return quote(name, safe=PLAIN)


def canonical(raw: bytes) -> str:
    """Return the path for routing: no trailing slash, no matrix parameters, each segment percent-encoded in one way.

    Raises :class:`RequestError` for an empty segment, usually an unset variable in a script, and for a segment that is not UTF-8.
    """
    path = raw.decode("latin-1")
    if "//" in path:
        raise RequestError("The path has an empty segment (//). Remove the extra slash, or put in the connector name that is missing.")
    if len(path) > 1:
        path = path.removesuffix("/")
    if "%" not in path and ";" not in path and path.isascii():
        return path
    return "/".join(_segment(segment) for segment in path.split("/"))


def _segment(segment: str) -> str:
    segment = segment.partition(";")[0]
    try:
        return encode(unquote_to_bytes(segment.encode("latin-1")).decode())
    except UnicodeDecodeError:
        raise RequestError("The path is not UTF-8 after percent-decoding. Encode the connector name as UTF-8.") from None


register_url_convertor("segment", Segment())
