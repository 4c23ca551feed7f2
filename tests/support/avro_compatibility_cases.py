"""Pairs of Avro schemas, reader and writer, whose compatibility was recorded from Avro's Java library."""

from __future__ import annotations

from typing import Any, Final


def record(*fields: Any, name: str = "p.R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def field(name: str, kind: Any, *default: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **({"default": default[0]} if default else {}), **more}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "p.E", "symbols": list(symbols), **more}


_KINDS: Final = ("null", "boolean", "int", "long", "float", "double", "string", "bytes")
_LIST: Final = record(field("next", ["null", "p.R"], None), field("a", "int"))
PAIRS: Final[list[tuple[Any, Any]]] = [
    *((reader, writer) for reader in _KINDS for writer in _KINDS),
    (record(field("a", "int")), record(field("a", "int"), field("b", "int"))),
    (record(field("a", "int"), field("b", "int")), record(field("a", "int"))),
    (record(field("a", "int"), field("b", "int", 1)), record(field("a", "int"))),
    (record(field("a", "long")), record(field("a", "int"))),
    (record(field("a", "int")), record(field("a", "long"))),
    (record(field("a", ["null", "int"])), record(field("a", "int"))),
    (record(field("a", "int")), record(field("a", ["null", "int"]))),
    (record(field("a", "int"), name="p.Other"), record(field("a", "int"))),
    (record(field("a", "int"), name="q.R"), record(field("a", "int"))),
    (record(field("b", "int", aliases=["a"])), record(field("a", "int"))),
    (record(field("a", {"type": "int", "connect.default": 1}, 1)), record(field("a", "int"))),
    (["null", "string"], "string"),
    ("string", ["null", "string"]),
    (["null", "long"], ["null", "int"]),
    (["null", "int", "string"], ["null", "string"]),
    (["null", "string"], ["null", "int", "string"]),
    ({"type": "array", "items": "long"}, {"type": "array", "items": "int"}),
    ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}),
    ({"type": "map", "values": "string"}, {"type": "map", "values": "string"}),
    ({"type": "map", "values": "string"}, {"type": "array", "items": "string"}),
    (enum("A", "B"), enum("A")),
    (enum("A"), enum("A", "B")),
    (enum("A", default="A"), enum("A", "B")),
    ({"type": "fixed", "name": "p.F", "size": 4}, {"type": "fixed", "name": "p.F", "size": 4}),
    ({"type": "fixed", "name": "p.F", "size": 4}, {"type": "fixed", "name": "p.F", "size": 5}),
    (_LIST, _LIST),
    (record(field("next", ["null", "p.R"], None), field("a", "long")), _LIST),
    (record(field("next", ["null", "p.R"], None), field("a", "string")), _LIST),
    (
        record(field("x", record(field("y", "int"), name="p.I")), field("z", "p.I")),
        record(field("x", record(field("y", "int"), name="p.I")), field("z", "p.I")),
    ),
    (
        record(field("x", ["null", record(field("y", "string"), name="I")], None)),
        record(field("x", ["null", record(field("y", "int"), name="I")], None)),
    ),
]
