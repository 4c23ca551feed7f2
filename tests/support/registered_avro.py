"""Records that Apicurio's AvroConverter wrote, as JSON that can be compared: ids of schemas differ from run to run, schemas do not."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import fastavro
import httpx

from .topics import Raw

GROUP: Final = "default"
FOUR_BYTES: Final = 5
"""The length of the marker, which is 0, and of an id."""


class RegisteredAvro:
    """What a registry has registered, by its own API (``/apis/registry/v3``). ``client`` has its address."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._schemas: dict[int, tuple[Any, Any]] = {}
        """Each id's schema as it is registered, and for fastavro with those that it refers to."""

    async def readable(self, raw: Raw) -> Raw:
        """Return the record with ``{"schema": …, "payload": …}`` in place of Avro, and with no id in its headers."""
        headers = {name: value for name, value in raw.headers if name.endswith(".contentId")}
        key, value = [
            await self._json(data, headers.get(f"apicurio.{side}.contentId")) for side, data in (("key", raw.key), ("value", raw.value))
        ]
        return replace(raw, key=key, value=value, headers=tuple((name, b"ID" if name in headers else data) for name, data in raw.headers))

    async def subjects(self, prefix: str) -> dict[str, str]:
        """Return the versions of each artifact whose name begins with the prefix: a list of schemas, as JSON."""
        artifacts = await self._get(f"/groups/{GROUP}/artifacts", limit="500", orderby="createdOn", order="desc")
        names = sorted(one["artifactId"] for one in artifacts["artifacts"] if one["artifactId"].startswith(prefix))
        found = {}
        for name in names:
            versions = f"/groups/{GROUP}/artifacts/{quote(name, safe='')}/versions"
            listed = await self._get(versions, orderby="globalId", order="asc")
            found[name] = json.dumps([await self._get(f"{versions}/{one['version']}/content") for one in listed["versions"]])
        return found

    async def _json(self, data: bytes | None, id_in_header: bytes | None) -> bytes | None:
        if data is None or (id_in_header is None and (len(data) < FOUR_BYTES or data[0])):
            return data
        number, body = (data[1:FOUR_BYTES], data[FOUR_BYTES:]) if id_in_header is None else (id_in_header, data)
        schema, parsed = await self._schema(int.from_bytes(number))
        stream = io.BytesIO(body)
        payload = fastavro.schemaless_reader(stream, parsed, None)
        if left := stream.read():
            raise ValueError(f"{len(left)} bytes follow the record of schema {schema}")
        return json.dumps({"schema": schema, "payload": _shown(payload)}, ensure_ascii=False).encode()

    async def _schema(self, number: int) -> tuple[Any, Any]:
        if number not in self._schemas:
            path = f"/ids/contentIds/{number}"
            schema = await self._get(path)
            named: dict[str, Any] = {}
            await self._name(await self._get(f"{path}/references"), named)
            self._schemas[number] = schema, fastavro.parse_schema(_without_logical_types(schema), named_schemas=named)
        return self._schemas[number]

    async def _name(self, references: Sequence[Mapping[str, Any]], named: dict[str, Any]) -> None:
        """Parse the schemas that are referred to, those that they refer to first."""
        for one in references:
            path = f"/groups/{one.get('groupId') or GROUP}/artifacts/{quote(one['artifactId'], safe='')}/versions/{one['version']}"
            await self._name(await self._get(f"{path}/references"), named)
            if one["name"] not in named:
                fastavro.parse_schema(_without_logical_types(await self._get(f"{path}/content")), named_schemas=named)

    async def _get(self, path: str, **parameters: str) -> Any:
        answer = await self._client.get(f"/apis/registry/v3{path}", params=parameters)
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
