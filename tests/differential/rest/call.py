"""A call of REST as it goes over the wire, and its answer."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

TIMEOUT_S: Final = 90.0

Fields = tuple[tuple[str, str], ...]
"""Members of a JSON object as pairs of a name and JSON text, so that duplicates and the digits of numbers stay as they are."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker answers."""

    status: int
    headers: dict[str, str]
    """By lower-case name."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body; None without one, its text if it is no JSON."""
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except ValueError:
            return self.body.decode(errors="backslashreplace")


@dataclass(frozen=True, slots=True)
class Call:
    """A request without what the connection adds."""

    method: str
    target: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def send(self, url: str) -> Answer:
        """The answer of the worker at the URL, on a connection of its own: the reference ends some of them after an error."""
        place = urlsplit(url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port or 80, timeout=TIMEOUT_S)
        try:
            connection.putrequest(self.method, self.target, skip_accept_encoding=True)
            for name, value in self.headers:
                connection.putheader(name, value.encode("latin-1"))
            if self.body is not None:
                connection.putheader("Content-Length", str(len(self.body)))
            connection.endheaders(self.body)
            response = connection.getresponse()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        finally:
            connection.close()

    def __str__(self) -> str:
        headers = "".join(f" -H {name}:{value}" for name, value in self.headers)
        body = "" if self.body is None else f" {self.body.decode(errors='backslashreplace')}"
        return f"{self.method} {self.target}{headers}{body}"


JSON: Final = (("Content-Type", "application/json"),)


def object_text(fields: Sequence[tuple[str, str]]) -> str:
    """The JSON object of the members."""
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in fields) + "}"
