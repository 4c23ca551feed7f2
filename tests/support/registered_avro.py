"""Records that Apicurio's AvroConverter wrote, as JSON that can be compared: ids of schemas differ from run to run, schemas do not."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

import fastavro
import httpx

from .topics import Raw

GROUP: Final = "default"
API: Final = "/apis/registry/v2"
"""Registries 2.x and 3.x serve it."""


@dataclass(frozen=True, slots=True)
class IdForm:
    """Where a converter puts the id of a schema, and which id, as its options say."""

    kind: str
    """``contentIds`` or ``globalIds``, as the registry's API names them."""
    size: int
    """The bytes of an id before a value."""
    header: str
    """The name of the header with the id; empty where it is before the value."""

    @classmethod
    def of(cls, config: Mapping[str, str], side: str) -> IdForm | None:
        """Return the form for a connector's keys or values (``side``); None where these are not in Avro."""
        if config.get(f"{side}.converter") != "io.apicurio.registry.utils.converter.AvroConverter":
            return None

        def option(name: str, default: str) -> str:
            return config.get(f"{side}.converter.apicurio.registry.{name}", default)

        former = option("url", "").endswith("/v2")
        which = option("use-id", "globalId" if former else "contentId")
        in_header = option("headers.enabled", "true" if former else "false") == "true"
        header = option(f"headers.{side}.{which}.name", f"apicurio.{side}.{which}") if in_header else ""
        return cls(f"{which}s", 8 if former and option("as-confluent", "false") == "false" else 4, header)


class RegisteredAvro:
    """What a registry has registered, by its own API. ``client`` has its address."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._schemas: dict[str, tuple[Any, Any]] = {}
        """The schema of each id as it is registered, and for fastavro with those that it refers to."""

    async def readable(self, raw: Raw, config: Mapping[str, str]) -> Raw:
        """Return a record of the connector with ``{"schema": …, "payload": …}`` in place of Avro, and with no id in its headers.

        Raises ValueError or HTTPStatusError where the id that the connector's configuration asks for is missing or unknown.
        """
        ids = []
        sides = []
        for side, data in (("key", raw.key), ("value", raw.value)):
            form = IdForm.of(config, side)
            sides.append(data if data is None or form is None else await self._json(data, form, dict(raw.headers)))
            ids += [form.header] if form is not None else []
        key, value = sides
        return replace(raw, key=key, value=value, headers=tuple((name, b"ID" if name in ids else data) for name, data in raw.headers))

    async def subjects(self, prefix: str) -> dict[str, str]:
        """Return the versions of each artifact whose name begins with the prefix: a list of schemas as JSON, the newest first."""
        artifacts = await self._get(f"/groups/{GROUP}/artifacts", limit="500", orderby="createdOn", order="desc")
        names = sorted(one["id"] for one in artifacts["artifacts"] if one["id"].startswith(prefix))
        found = {}
        for name in names:
            versions = f"/groups/{GROUP}/artifacts/{quote(name, safe='')}/versions"
            listed = sorted((await self._get(versions, limit="500"))["versions"], key=lambda one: int(one["globalId"]), reverse=True)
            found[name] = json.dumps([await self._get(f"{versions}/{one['version']}") for one in listed])
        return found

    async def _json(self, data: bytes, form: IdForm, headers: Mapping[str, bytes | None]) -> bytes:
        number: bytes | None
        if form.header:
            number, body = headers.get(form.header), data
        else:
            number, body = data[1 : 1 + form.size], data[1 + form.size :]
        if number is None or len(number) != (8 if form.header else form.size) or (data[:1] != b"\0" and not form.header):
            raise ValueError(f"{data!r} with the headers {headers} has no id of the form {form}")
        schema, parsed = await self._schema(f"/ids/{form.kind}/{int.from_bytes(number)}")
        stream = io.BytesIO(body)
        payload = fastavro.schemaless_reader(stream, parsed, None)
        if left := stream.read():
            raise ValueError(f"{len(left)} bytes follow the record of schema {schema}")
        return json.dumps({"schema": schema, "payload": _shown(payload)}, ensure_ascii=False).encode()

    async def _schema(self, path: str) -> tuple[Any, Any]:
        if path not in self._schemas:
            schema = await self._get(path)
            named: dict[str, Any] = {}
            await self._name(await self._get(f"{path}/references"), named)
            self._schemas[path] = schema, fastavro.parse_schema(_without_logical_types(schema), named_schemas=named)
        return self._schemas[path]

    async def _name(self, references: Sequence[Mapping[str, Any]], named: dict[str, Any]) -> None:
        """Parse the schemas that are referred to, those that they refer to first."""
        for one in references:
            path = f"/groups/{one.get('groupId') or GROUP}/artifacts/{quote(one['artifactId'], safe='')}/versions/{one['version']}"
            await self._name(await self._get(f"{path}/references"), named)
            if one["name"] not in named:
                fastavro.parse_schema(_without_logical_types(await self._get(path)), named_schemas=named)

    async def _get(self, path: str, **parameters: str) -> Any:
        answer = await self._client.get(f"{API}{path}", params=parameters)
        return answer.raise_for_status().json()


def _without_logical_types(schema: Any) -> Any:
    """A number stays a number, so that what was written is compared."""
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    if isinstance(schema, dict):
        return {key: _without_logical_types(part) for key, part in schema.items() if key != "logicalType"}
    return schema


def _shown(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [_shown(part) for part in value]
    if isinstance(value, dict):
        return {key: _shown(part) for key, part in value.items()}
    return value
