"""Converters of columns that tell what they were given; the Java ones that the reference was recorded with did the same."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping

from connector.events.column_converter import ColumnConverter, ConvertibleColumn, Registration
from connector.record.schema import Schema


class Probe(ColumnConverter):
    """Takes the columns that ``columns`` matches (``schema.table.column``); ``mode`` is what it does with their values."""

    def __init__(self) -> None:
        self.properties: Mapping[str, str] = {}
        self.seen: list[ConvertibleColumn] = []

    def configure(self, properties: Mapping[str, str]) -> None:
        self.properties = properties

    def converter_for(self, column: ConvertibleColumn) -> Registration | None:
        own = self.properties
        self.seen.append(column)
        if not re.fullmatch(own.get("columns", ".*"), f"{column.table}.{column.name}"):
            return None
        schema = Schema(own.get("schema.type", "string"), own.get("optional") == "true", own.get("schema.name"))
        if "unavailable" in own:
            return Registration(schema, self._convert, own["unavailable"])
        return Registration(schema, self._convert)

    def _convert(self, text: str | None) -> object:
        match self.properties.get("mode"):
            case "number":
                return None if text is None else int(text)
            case "length":
                return None if text is None else len(text)
            case "picky":
                if text == "bad":
                    raise RuntimeError("secret bad value")
                return None if text == "nil" else text
            case "refusing":
                raise RuntimeError("secret refused value")
            case _:
                return "null" if text is None else f"text:{text}"


class Leaving(dict[str, str]):
    """A value that ends the program when it is looked at."""

    def __iter__(self) -> Iterator[str]:
        raise SystemExit


class Careless(ColumnConverter):
    """Does what its property ``does`` says wrongly."""

    def __init__(self) -> None:
        self.does = ""

    def configure(self, properties: Mapping[str, str]) -> None:
        self.does = properties["does"]
        if self.does == "configure":
            raise ValueError("does not like it")
        if self.does == "quit":
            sys.exit(3)

    def converter_for(self, column: ConvertibleColumn) -> Registration | None:
        match self.does:
            case "look":
                raise LookupError(column.name)
            case "leave":
                raise SystemExit
            case "registration":
                return Registration("string", str)  # type: ignore[arg-type]
            case "exit":
                return Registration(Schema("string"), sys.exit)
            case "mapping":
                return Registration(Schema("map", keys=Schema("string"), values=Schema("string")), lambda _text: Leaving())
            case "kind":
                return Schema("string")  # type: ignore[return-value]
            case "schema":
                return Registration(Schema("text"), str)
            case "array":
                return Registration(Schema("array"), str)
            case "unavailable":
                return Registration(Schema("string"), str, unavailable=1)
            case "default":
                return Registration(Schema("int32"), lambda _text: "no number")
            case _:
                return Registration(Schema("string"), lambda _text: None)


class Unmade(ColumnConverter):
    """Lacks a method."""


class Demanding:
    """No converter at all."""
