"""One request to a server that answers JSON, with limits of time and size. No error quotes an answer."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from workers.secret_stores.store import StoreRefusalError, StoreUnreachableError

MOST: Final = 4 << 20
"""The most bytes of an answer. A Secret of Kubernetes has at most 1 MiB before base64."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for the connection, for each part of the answer, and for the whole answer."""

    connect: float = 3.0
    read: float = 5.0
    whole: float = 10.0


LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Server:
    """A server by name and address. ``tls`` is None for an address with http."""

    name: str
    url: str
    tls: ssl.SSLContext | None
    limits: Limits = LIMITS

    @property
    def place(self) -> str:
        """The server in the words of an error."""
        return f"{self.name} at {urlsplit(self.url).netloc.rpartition('@')[2]}"

    def call(
        self, method: str, path: str, headers: Mapping[str, str], form: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, Any]]:
        """The status and the members of the JSON object in the answer; no members if it is something else.

        Follows no redirect and asks no proxy of the environment, because the request contains a token. Raises StoreUnreachableError, and
        StoreRefusalError for a certificate that is not trusted and for an answer that is too large.
        """
        import httpx  # noqa: PLC0415 (50 ms that only who has a store need pay)

        timeout = httpx.Timeout(self.limits.read, connect=self.limits.connect)
        content = None if form is None else orjson.dumps(dict(form))
        try:
            with (
                httpx.Client(verify=self.tls or False, timeout=timeout, trust_env=False) as client,
                client.stream(method, f"{self.url.rstrip('/')}{path}", headers=dict(headers), content=content) as answer,
            ):
                return answer.status_code, _members(self._body(answer))
        except httpx.TimeoutException as problem:
            raise StoreUnreachableError(f"{self.place} did not answer in time") from problem
        except httpx.HTTPError as problem:
            if _untrusted(problem):
                raise StoreRefusalError(f"{self.place} has a certificate that is not trusted") from problem
            raise StoreUnreachableError(f"{self.place} cannot be reached") from problem
        except (httpx.InvalidURL, UnicodeError) as problem:
            raise StoreRefusalError(f"the address of {self.name} is not valid") from problem

    def _body(self, answer: Any) -> bytes:
        end = time.monotonic() + self.limits.whole
        body = bytearray()
        for part in answer.iter_bytes():
            body += part
            if len(body) > MOST:
                raise StoreRefusalError(f"{self.place} answered with more than {MOST} bytes")
            if time.monotonic() > end:
                raise StoreUnreachableError(f"{self.place} did not answer in time")
        return bytes(body)


def _members(body: bytes) -> Mapping[str, Any]:
    try:
        found = orjson.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _untrusted(problem: BaseException | None) -> bool:
    while problem is not None:
        if isinstance(problem, ssl.SSLCertVerificationError):
            return True
        problem = problem.__cause__ or problem.__context__
    return False
