"""Fetches schemas from a registry that speaks Confluent's REST dialect (Apicurio does below ``/apis/ccompat/v7``).

Source: Confluent's documentation, "Schema Registry API Reference", ``GET /schemas/ids/{id}`` and ``GET /schemas/guids/{guid}``.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import httpx

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.known import Unreadable

_TIMEOUT_SECONDS: Final = 15.0
_RETRIES: Final = 2
"""Further attempts to connect. A request that got an answer is not repeated."""
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"

_KNOWN_FILES: Final = ("confluent/type/", "google/type/", "google/protobuf/")
"""Files of Protocol Buffers whose messages every reader knows."""


@dataclass(frozen=True, slots=True)
class RegistryAuth:
    """The credentials: ``user`` and ``password``, or a bearer ``token``. ``ca`` is a PEM file that replaces the system's certificates."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca: Path | None = None


class SchemaRegistry:
    """Schemas by id. Each is fetched once, because the schema of an id never changes. ``kind`` is their type in the registry's terms.

    Raises JobError for an invalid URL, for an unreadable CA file, and for both a user and a token.
    """

    def __init__(self, url: str, auth: RegistryAuth | None = None, kind: str = "AVRO") -> None:
        who = auth or RegistryAuth()
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise JobError(UNREADABLE, "The registry's url does not begin with http:// or https:// and a host. Correct it.")
        if who.user is not None and who.token is not None:
            raise JobError(UNREADABLE, "The registry has both a user and a token. Remove one of them.")
        if parts.username is not None:
            raise JobError(UNREADABLE, "The registry's url holds a user, but messages show urls. Set user and password separately.")
        self._url = url.rstrip("/")
        self._kind = kind
        self._known: dict[int | str, str | Unreadable] = {}
        self._client = httpx.Client(
            transport=httpx.HTTPTransport(verify=_trust(who.ca), retries=_RETRIES),
            headers={"Accept": _ACCEPT, **({"Authorization": f"Bearer {who.token}"} if who.token is not None else {})},
            auth=None if who.user is None else (who.user, who.password or ""),
            timeout=_TIMEOUT_SECONDS,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def schema(self, number: int | str) -> str | Unreadable:
        """The text of the schema with this id or GUID (text), or the reason without one: another type, references, an unknown id.

        Raises JobError when the registry cannot be reached or refuses the request.
        """
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._fetched(number)
        return known

    def _fetched(self, number: int | str) -> str | Unreadable:
        answer = self._answer(f"/schemas/{'ids' if isinstance(number, int) else 'guids'}/{number}", number)
        if isinstance(answer, Unreadable):
            return answer
        try:
            document = answer.json()
        except ValueError:
            document = None
        text = document.get("schema") if isinstance(document, dict) else None
        if not isinstance(document, dict) or not isinstance(text, str):
            raise JobError(UNREADABLE, f"The answer of {self._url} for schema {number} holds no schema. Check that it is a registry's url.")
        kind = document.get("schemaType", "AVRO")
        if kind != self._kind:
            return Unreadable(f"its schema {number} is of type {kind}, not {self._kind}")
        if any(not _is_known(reference) for reference in document.get("references") or ()):
            return Unreadable(f"its schema {number} refers to other schemas, which are not followed")
        return text

    def _answer(self, path: str, number: int | str) -> httpx.Response | Unreadable:
        """The answer to GET; the reason if the registry does not have what is asked for because of the schema ``number``."""
        try:
            answer = self._client.get(f"{self._url}{path}")
        except httpx.HTTPError as error:
            raise JobError(UNREADABLE, f"The registry {self._url} cannot be reached ({type(error).__name__}). Check its url.") from error
        if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise JobError(UNREADABLE, f"The registry {self._url} refuses these credentials ({answer.status_code}). Check user or token.")
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return Unreadable(f"the registry {self._url} has no schema {number}")
        if answer.status_code != HTTPStatus.OK:
            raise JobError(UNREADABLE, f"The registry {self._url} answers {answer.status_code} for schema {number}. See its log.")
        return answer


def _is_known(reference: object) -> bool:
    """Whether a reference is to a file that ProtobufConverter imports and registers with ``skip.known.types=false``."""
    return isinstance(reference, dict) and str(reference.get("name")).startswith(_KNOWN_FILES)


def _trust(ca: Path | None) -> ssl.SSLContext:
    if ca is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=str(ca))
    except OSError as error:
        raise JobError(UNREADABLE, f"The registry's ca, {ca}, cannot be read as PEM. Check the file.") from error
