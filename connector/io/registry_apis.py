"""What is sent to a schema registry for one request: Confluent's REST API, and Apicurio's of versions 2 and 3.

Each is a generator. It yields calls and is sent their answers as parsed JSON (None for a status that the call lists as ``absent``). It
returns what was found, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from connector.converters.converter import SchemaRequest
from connector.converters.registry import Api, RegisteredSchema, SchemaAsk

_NOT_FOUND: Final = 404
_CONFLUENT: Final = {"Content-Type": "application/vnd.schemaregistry.v1+json"}


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request. ``body`` is JSON, or bytes as they are."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[int, ...] = ()


Resolved = Sequence[tuple[str, SchemaRequest, RegisteredSchema]]
"""The references of a schema: name, request, answer."""
Conversation = Generator[Call, Any, RegisteredSchema | None]
RegistryApi = Callable[[str, SchemaAsk, Resolved], Conversation]


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _confluent(subject: str, ask: SchemaAsk, references: Resolved) -> Conversation:
    """Confluent documentation, "Schema Registry API"."""
    place = f"/subjects/{_quoted(subject)}"
    if ask.action == "latest":
        found = yield Call("GET", f"{place}/versions/latest", headers=_CONFLUENT, absent=(_NOT_FOUND,))
        return _confluent_answer(found, with_text=True)
    if ask.action == "by id":
        found = yield Call("GET", f"/schemas/ids/{ask.schema_id}?subject={_quoted(subject)}", headers=_CONFLUENT, absent=(_NOT_FOUND,))
        return _confluent_answer(None if found is None else {**found, "id": ask.schema_id}, with_text=True)
    body: dict[str, Any] = {"schema": ask.text}
    if ask.type != "AVRO":
        body["schemaType"] = ask.type
    normalize = "?normalize=true" if ask.normalize else ""
    if references:
        body["references"] = yield from _confluent_references(references)
    if ask.action == "look up":
        found = yield Call("POST", place + normalize, body, _CONFLUENT, (_NOT_FOUND,))
        return _confluent_answer(found)
    found = yield Call("POST", f"{place}/versions{normalize}", body, _CONFLUENT)
    return _confluent_answer(found)


def _confluent_references(references: Resolved) -> Generator[Call, Any, list[dict[str, Any]]]:
    """References name subject and version. Registering answers with the id alone in older registries: looking up tells the version."""
    found: list[dict[str, Any]] = []
    for name, request, answer in references:
        version = answer.version
        if not version and isinstance(request.ask, SchemaAsk):
            body = {"schema": request.ask.text, "schemaType": request.ask.type}
            version = str((yield Call("POST", f"/subjects/{_quoted(request.subject)}", body, _CONFLUENT))["version"])
        found.append({"name": name, "subject": request.subject, "version": int(version)})
    return found


def _confluent_answer(found: Any, *, with_text: bool = False) -> RegisteredSchema | None:
    if found is None:
        return None
    return RegisteredSchema(
        int(found["id"]),
        guid=str(found.get("guid") or ""),
        text=found["schema"] if with_text else None,
        version=str(found.get("version", "")),
    )


def _apicurio_3(subject: str, ask: SchemaAsk, references: Resolved) -> Conversation:
    """Apicurio's API v3, as its resolver of 3.0.9 uses it."""
    group = _quoted(ask.group)
    if ask.action == "latest":
        place = f"/groups/{group}/artifacts/{_quoted(subject)}/versions/{_quoted(ask.version or 'branch=latest')}"
        found = yield Call("GET", place, absent=(_NOT_FOUND,))
        if found is None:
            return None
        text = yield Call("GET", f"{place}/content?references=DEREFERENCE")
        return _apicurio_answer(found, text)
    media = "application/x-protobuf" if ask.type == "PROTOBUF" else "application/json"
    if ask.action == "look up":
        for canonical in ("true", "false"):
            query = urlencode(
                {
                    "groupId": ask.group,
                    "artifactId": subject,
                    "canonical": canonical,
                    "artifactType": ask.type,
                    "orderby": "globalId",
                    "order": "desc",
                }
            )
            found = yield Call("POST", f"/search/versions?{query}", ask.text.encode(), {"Content-Type": media})
            if found["versions"]:
                return _apicurio_answer(found["versions"][0])
        return None
    content: dict[str, Any] = {"content": ask.text, "contentType": media, "references": _coordinates(references)}
    version: dict[str, Any] = {"content": content} | ({"version": ask.version} if ask.version else {})
    body = {"artifactId": subject, "artifactType": ask.type, "firstVersion": version}
    found = yield Call("POST", f"/groups/{group}/artifacts?ifExists={ask.if_exists}&canonical=false", body)
    return _apicurio_answer(found["version"])


def _apicurio_2(subject: str, ask: SchemaAsk, references: Resolved) -> Conversation:
    """Apicurio's API v2, as its resolver of 2.6.13 uses it."""
    place = f"/groups/{_quoted(ask.group)}/artifacts/{_quoted(subject)}"
    if ask.action == "latest":
        place += f"/versions/{_quoted(ask.version)}" if ask.version else ""
        found = yield Call("GET", f"{place}/meta", absent=(_NOT_FOUND,))
        if found is None:
            return None
        text = yield Call("GET", f"{place}?dereference=true")
        return _apicurio_answer(found, text)
    extended = "application/create.extended+json" if references else "application/json"
    body: Any = {"content": ask.text, "references": _coordinates(references)} if references else ask.text.encode()
    if ask.action == "look up":
        found = yield Call("POST", f"{place}/meta?canonical=true", ask.text.encode(), {"Content-Type": "application/json"}, (_NOT_FOUND,))
        return None if found is None else _apicurio_answer(found)
    headers = {"Content-Type": extended, "X-Registry-ArtifactId": subject, "X-Registry-ArtifactType": ask.type}
    if ask.version:
        headers["X-Registry-Version"] = ask.version
    found = yield Call("POST", f"/groups/{_quoted(ask.group)}/artifacts?ifExists={ask.if_exists}&canonical=false", body, headers)
    return _apicurio_answer(found)


def _coordinates(references: Resolved) -> list[dict[str, str]]:
    """References as Apicurio's resolver tells them: without the group where it is the default one."""
    return [
        {"artifactId": request.subject, "name": name, "version": answer.version} | ({"groupId": answer.group} if answer.group else {})
        for name, request, answer in references
    ]


def _apicurio_answer(found: Any, text: Any = None) -> RegisteredSchema:
    shown = None if text is None else text if isinstance(text, str) else orjson.dumps(text).decode()
    return RegisteredSchema(
        int(found["contentId"]),
        int(found["globalId"]),
        text=shown,
        version=str(found["version"]),
        group=str(found.get("groupId") or ""),
    )


APIS: Final[dict[Api, RegistryApi]] = {"confluent": _confluent, "apicurio-v2": _apicurio_2, "apicurio-v3": _apicurio_3}
