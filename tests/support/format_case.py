"""One case of those that the recordings of Debezium's smaller transforms consist of, and its compact form.

A case is a transform's class, its options and a record. A record is JSON: ``topic``, ``key`` and ``value`` as pairs of a schema and a
payload in JsonConverter's words, ``headers`` as pairs of a name and such a pair. Stored, each schema is a number of the list of schemas.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from connector.configdef.key import VERSIONS

RECORDED: Final = Path(__file__).parents[1] / "unit/connector/transforms/debezium/recorded"
"""The folder of the recordings: one file for each group of cases."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One question to the reference."""

    transform: str
    options: dict[str, str]
    record: Json
    versions: tuple[str, ...] = VERSIONS

    def plain(self) -> list[Any]:
        """The case as JSON, to recognise it by."""
        return [self.transform, self.options, self.record]


class Shared:
    """The schemas of a recording, each stored once."""

    def __init__(self, schemas: list[Any]) -> None:
        self.schemas = schemas
        self._known = {json.dumps(schema): number for number, schema in enumerate(schemas)}

    def reported(self, case: Case) -> list[Any]:
        """A case with numbers in the places of its schemas."""
        return [case.transform, case.options, self.closed(case.record)]

    def case(self, reported: list[Any]) -> list[Any]:
        """The case as :meth:`Case.plain` gives it."""
        return [reported[0], reported[1], self.opened(reported[2])]

    def closed(self, record: Any) -> Any:
        """A record with numbers in the places of its schemas."""
        return self._replaced(record, self._number)

    def opened(self, record: Any) -> Any:
        """The record with its schemas."""
        return self._replaced(record, lambda number: None if number is None else self.schemas[number])

    def _number(self, schema: Any) -> int | None:
        if schema is None:
            return None
        key = json.dumps(schema)
        if key not in self._known:
            self._known[key] = len(self.schemas)
            self.schemas.append(schema)
        return self._known[key]

    def _replaced(self, record: Any, change: Any) -> Any:
        if not isinstance(record, dict):
            return record
        found = dict(record)
        for side in ("key", "value"):
            if found.get(side) is not None:
                found[side] = [change(found[side][0]), found[side][1]]
        if found.get("headers"):
            found["headers"] = [[name, None if pair is None else [change(pair[0]), pair[1]]] for name, pair in found["headers"]]
        return found


def required(kind: str, name: str | None = None, **more: Any) -> Json:
    """A schema that is not optional."""
    return {"type": kind, "optional": False, **({} if name is None else {"name": name, "version": 1}), **more}


def optional(kind: str, name: str | None = None, **more: Any) -> Json:
    """An optional schema."""
    return {**required(kind, name, **more), "optional": True}


def struct(fields: dict[str, Json], name: str | None = None, **more: Any) -> Json:
    """A struct's schema; its version is left out."""
    reported = [{**schema, "field": field} for field, schema in fields.items()]
    return {"type": "struct", "fields": reported, "optional": False, **({} if name is None else {"name": name}), **more}


def changed(record: Json, found: Any) -> Any:
    """What an answer changes in a record: its members that differ, null for those that it lacks. Other answers stay as they are."""
    if not isinstance(found, dict) or "topic" not in found:
        return found
    names = {**record, **found}
    return {name: found.get(name) for name in names if found.get(name) != record.get(name)}


def answered(record: Json, change: Any) -> Any:
    """The answer of which :func:`changed` made this."""
    if not isinstance(change, dict) or "error" in change or "wrong" in change:
        return change
    return {name: value for name, value in {**record, **change}.items() if value is not None}
