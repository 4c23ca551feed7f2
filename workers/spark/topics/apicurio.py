"""Fetches schemas from Apicurio's registry by its own REST API, of versions 2 and 3.

An artifact's version has two ids, the contentId and the globalId. A schema may refer to other artifacts, as the converters 3.x register a
schema's nested records; they are put into the schema that refers to them. Source: Apicurio's documentation, "Registry REST API".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import quote, urlsplit

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.known import Unreadable
from workers.spark.topics.registry import RegistryAuth, SchemaRegistry

UseId = Literal["contentId", "globalId"]
_NAMED: Final = ("record", "enum", "fixed")


def generation_of(url: str) -> int | None:
    """The version of Apicurio's own API at ``url``, from its path; None for a URL of another API."""
    path = urlsplit(url).path
    return next((version for version in (2, 3) if f"/apis/registry/v{version}" in path), None)


class ApicurioRegistry(SchemaRegistry):
    """Schemas by id (see :class:`SchemaRegistry`). ``use_id`` says which of the two ids the records have."""

    def __init__(self, url: str, use_id: UseId, auth: RegistryAuth | None = None, kind: str = "AVRO") -> None:
        super().__init__(url, auth, kind)
        self._generation = generation_of(url)
        self._ids = f"/ids/{use_id}s"

    def _fetched(self, number: int | str) -> str | Unreadable:
        text = self._text(f"{self._ids}/{number}", number)
        if isinstance(text, Unreadable) or self._kind != "AVRO":
            return text
        found: dict[str, str | Unreadable] = {}
        self._follow(f"{self._ids}/{number}", number, found)
        named: dict[str, Mapping[str, object]] = {}
        for part in found.values():
            if isinstance(part, Unreadable):
                return Unreadable(f"the registry {self._url} lacks an artifact that its schema {number} refers to")
            _collect(_document(part), "", named)
        return json.dumps(_whole(_document(text), "", named, set())) if named else text

    def _follow(self, place: str, number: int | str, found: dict[str, str | Unreadable]) -> None:
        """Add the texts of the artifacts that the one at ``place`` refers to, and of those that they refer to themselves."""
        answer = self._answer(f"{place}/references", number)
        references = [] if isinstance(answer, Unreadable) else answer.json()
        for reference in references if isinstance(references, list) else []:
            group, artifact, version = (
                quote(str(reference.get(name) or "default"), safe="") for name in ("groupId", "artifactId", "version")
            )
            there = f"/groups/{group}/artifacts/{artifact}/versions/{version}"
            if there not in found:
                found[there] = self._text(f"{there}/content" if self._generation == 3 else there, number)
                self._follow(there, number, found)

    def _text(self, path: str, number: int | str) -> str | Unreadable:
        answer = self._answer(path, number)
        return answer if isinstance(answer, Unreadable) else answer.text


def _document(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise JobError(UNREADABLE, "An Avro schema of the registry is not JSON. Register it again.") from error


def _full_name(avro: Mapping[str, object], namespace: str) -> str:
    name, space = str(avro.get("name")), str(avro.get("namespace", namespace))
    return name if "." in name or not space else f"{space}.{name}"


def _is_named(avro: Mapping[str, object]) -> bool:
    """Whether ``avro`` defines a type with a name. A record's field has a name too, and its type may be any."""
    return avro.get("type") in _NAMED and "name" in avro and ("fields" in avro or "symbols" in avro or "size" in avro)


def _collect(avro: object, namespace: str, named: dict[str, Mapping[str, object]]) -> None:
    """Add the named types within ``avro`` to ``named``, by their full names. Each has its namespace as a member of its own."""
    match avro:
        case list():
            for member in avro:
                _collect(member, namespace, named)
        case Mapping():
            if _is_named(avro):
                full = _full_name(avro, namespace)
                namespace = full.rpartition(".")[0]
                named.setdefault(full, {**avro, "name": full.rpartition(".")[2], "namespace": namespace})
            for name in ("type", "items", "values"):
                if isinstance(avro.get(name), list | Mapping):
                    _collect(avro[name], namespace, named)
            fields = avro.get("fields")
            for field in fields if isinstance(fields, list) else []:
                _collect(field, namespace, named)


def _whole(avro: object, namespace: str, named: Mapping[str, Mapping[str, object]], known: set[str]) -> object:
    """``avro`` with the definition of each type of ``named`` where it is used for the first time. ``known`` has the types so far."""
    match avro:
        case str():
            full = avro if avro in named or "." in avro or not namespace else f"{namespace}.{avro}"
            if full not in named or full in known:
                return full if full in known else avro
            return _whole(named[full], "", named, known)
        case list():
            return [_whole(member, namespace, named, known) for member in avro]
        case Mapping():
            found = dict(avro)
            if _is_named(avro):
                full = _full_name(avro, namespace)
                if full in known:
                    return full
                known.add(full)
                namespace = full.rpartition(".")[0]
                # A type of the default namespace within another one needs to say so.
                found["namespace"] = namespace
                found["name"] = full.rpartition(".")[2]
            for name in ("type", "items", "values"):
                # The type of a definition is the name of its kind.
                if name in avro and avro[name] not in _NAMED:
                    found[name] = _whole(avro[name], namespace, named, known)
            if isinstance(fields := avro.get("fields"), list):
                found["fields"] = [{**field, "type": _whole(field["type"], namespace, named, known)} for field in fields]
            return found
        case _:
            return avro
