"""Records, and which transforms of Kafka's own are applied to them with which options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

PACKAGE: Final = "org.apache.kafka.connect.transforms"
_DATA: Final = "org.apache.kafka.connect.data"

Case = tuple[str, Mapping[str, str], tuple[str, ...]]


def _field(field: str, kind: str, /, *, optional: bool = True, **more: Any) -> dict[str, Any]:
    return {"field": field, "type": kind, "optional": optional, **more}


def _struct(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "struct", "optional": False, "fields": list(fields), **more}


def _json(schema: dict[str, Any] | None, payload: Any) -> str:
    return json.dumps({"schema": schema, "payload": payload}, ensure_ascii=False, separators=(",", ":"))


def _logical(name: str) -> dict[str, Any]:
    return {"name": f"{_DATA}.{name}", "version": 1}


_DECIMAL: Final = {**_logical("Decimal"), "parameters": {"scale": "2"}}
_KEY: Final = _struct(_field("id", "int32", optional=False), _field("k", "string"), name="s.public.t.Key")
_NESTED: Final = _struct(
    _field("x", "int64", default=7),
    _field("y", "string"),
    _field("dot.ted", "string"),
    _field("deep", "struct", fields=[_field("z", "double"), _field("l", "array", items={"type": "int32", "optional": True})], name="Deep"),
    name="Nested",
    version=3,
)
_ROW: Final = _struct(
    _field("id", "int32", optional=False),
    _field("i8", "int8"),
    _field("i16", "int16", default=5),
    _field("i64", "int64", optional=False, default=64),
    _field("f32", "float"),
    _field("f64", "double", doc="a double"),
    _field("b", "boolean", default=True),
    _field("s", "string", default="dflt"),
    _field("bin", "bytes"),
    _field("dec", "bytes", **_DECIMAL),
    _field("day", "int32", **_logical("Date")),
    _field("time", "int32", **_logical("Time")),
    _field("ts", "int64", **_logical("Timestamp")),
    _field("micro", "int64", name="io.debezium.time.MicroTimestamp", version=1),
    name="s.public.t.Value",
    version=2,
    doc="a row",
    parameters={"p": "1"},
)
_LISTS: Final = _struct(
    _field("id", "int32", optional=False),
    _field("arr", "array", items={"type": "string", "optional": True}),
    _field("m", "map", keys={"type": "string", "optional": False}, values={"type": "int32", "optional": True}),
)
_OUTER: Final = _struct(
    {**_NESTED, "field": "n", "optional": True},
    {**_NESTED, "field": "req", "optional": False},
    _field("top", "string", default="t"),
    _field("a.b", "string"),
    name="Outer",
    optional=True,
)
_FULL: Final = {
    "id": 1,
    "i8": -3,
    "i16": 300,
    "i64": 5_000_000_000,
    "f32": 1.5,
    "f64": 2.75,
    "b": False,
    "s": "12",
    "bin": "AQID",
    "dec": "MDk=",
    "day": 19000,
    "time": 45_296_789,
    "ts": 1_700_000_000_123,
    "micro": 1_700_000_000_123_456,
}
_INNER: Final = {"x": 1, "y": "why", "dot.ted": "d", "deep": {"z": 0.5, "l": [1, None]}}


def _whole(kind: str, value: Any, **more: Any) -> dict[str, Any]:
    schema = {"type": kind, "optional": True, **more}
    return {"key": _json({**schema, "optional": False} if value is not None else schema, value), "value": _json(schema, value)}


RECORDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "row": {
        "key": _json(_KEY, {"id": 1, "k": "key"}),
        "value": _json(_ROW, _FULL),
        "timestamp": 1_700_000_000_123,
        "partition": 3,
        "headers": [["h", _json({"type": "string", "optional": False}, "one")], ["g", None], ["h", _json({"type": "int32"}, 2)]],
    },
    "nulls": {"key": _json(_KEY, {"id": 2, "k": None}), "value": _json(_ROW, dict.fromkeys(_FULL) | {"id": 2, "i64": 1})},
    "odd": {
        "key": _json(_KEY, {"id": -1, "k": ""}),
        "value": _json(
            _ROW,
            {
                **_FULL,
                "i16": -129,
                "i64": -(2**63),
                "f32": 3.4e38,
                "f64": -1e300,
                "b": True,
                "s": "yes",
                "bin": "",
                "dec": "/w==",
                "day": -1,
                "time": 0,
                "ts": -1,
                "micro": 0,
            },
        ),
        "timestamp": 4_102_444_800_000,
    },
    "tombstone": {"key": _json(_KEY, {"id": 3, "k": "key"}), "timestamp": 5_000_000_000},
    "lists": {"key": _json(_KEY, {"id": 3, "k": "key"}), "value": _json(_LISTS, {"id": 1, "arr": ["a", None], "m": {"k": 1}})},
    "no lists": {"key": None, "value": _json(_LISTS, {"id": 1, "arr": None, "m": None})},
    "outer": {
        "key": _json(_NESTED, _INNER),
        "value": _json(_OUTER, {"n": _INNER, "req": _INNER, "top": None, "a.b": "ab"}),
    },
    "outer nulls": {
        "key": _json(_NESTED, {"x": None, "y": None, "dot.ted": None, "deep": None}),
        "value": _json(_OUTER, {"n": None, "req": {**_INNER, "deep": None}, "top": "x", "a.b": None}),
    },
    "outer null": {"key": _json(_NESTED, _INNER), "value": _json(_OUTER, None)},
    "plain": {"key": _json(None, {"id": 1, "k": None}), "value": _json(None, {"id": 1, "s": "12", "f": 1.5, "b": True, "n": None})},
    "plain nested": {"value": _json(None, {"n": {"x": 1, "y": {"z": None}}, "l": [1, "a"], "a.b": 2}), "timestamp": 951_782_400_000},
    "plain null": {"key": None, "value": None},
    "plain text": {"key": _json(None, "k"), "value": _json(None, "text")},
    "plain number": {"key": _json(None, 5), "value": _json(None, 1_700_000_000_123), "timestamp": 9_000_000_000, "partition": 0},
    "text": _whole("string", "2023-11-14 22:13:20"),
    "number text": _whole("string", "42"),
    "number": _whole("int64", 1_700_000_000_123, doc="d"),
    "small": _whole("int32", 300, name="n", version=1, default=7),
    "double": _whole("double", 1e20),
    "truth": _whole("boolean", True),
    "timestamp": _whole("int64", 1_700_000_000_123, **_logical("Timestamp")),
    "date": _whole("int32", 19_000, **_logical("Date")),
    "time": _whole("int32", 45_296_789, **_logical("Time")),
    "no timestamp": _whole("int64", None, **_logical("Timestamp")),
    "micros": _whole("int64", 1_700_000_000_123_456),
    "array": _whole("array", [1, 2], items={"type": "int32", "optional": False}),
    "bytes": _whole("bytes", "AQID"),
    "decimal": _whole("bytes", "MDk=", **_DECIMAL),
}
"""Every schema is one that JsonConverter can read again."""

ALL: Final = tuple(RECORDS)
ROWS: Final = ("row", "nulls", "odd", "tombstone", "plain", "plain null", "plain text")
_TIMES: Final = (
    "timestamp",
    "date",
    "time",
    "no timestamp",
    "number",
    "text",
    "plain number",
    "plain text",
    "plain null",
    "small",
    "bytes",
)


def _cases(name: str, records: tuple[str, ...], *options: Mapping[str, str]) -> list[Case]:
    return [(name, each, records) for each in options]


def _both(name: str, records: tuple[str, ...], *options: Mapping[str, str]) -> list[Case]:
    return [
        *_cases(f"{name}$Value", records, *options),
        *_cases(f"{name}$Key", ("row", "nulls", "plain", "plain null", "text"), *options[:2]),
    ]


_WHOLE: Final = ("text", "number text", "number", "small", "double", "truth", "timestamp", "date", "time", "bytes", "decimal", "array")
_CASTABLE: Final = "i8,i16,i64,f32,f64,b"
_TYPES: Final = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
_KEEP: Final = {"replace.null.with.default": "false"}
_KEYS: Final = ("row", "outer", "outer nulls", "plain")
"""Records with keys that have fields, one of them with a default."""

CASES: Final[tuple[Case, ...]] = (
    *_both(
        "ReplaceField",
        (*ROWS, "outer", "lists", "text"),
        {"exclude": "s,b"},
        {"include": "id,s"},
        {},
        {"exclude": "id", "include": "id,s"},
        {"renames": "id:ID, s : text,i16:s"},
        {"renames": "id:ID,s:text", "exclude": "s", "include": "id,i16,i64", **_KEEP},
        {"renames": "id:s"},
        {"renames": "id:s", "exclude": "s"},
        {"renames": "id:x,s:x", "exclude": "id"},
        {"renames": "id"},
        {"renames": "id:a:b"},
        {"renames": "id:"},
        {"renames": ":b"},
        {"blacklist": "s", "whitelist": "id,s,b"},
        {"blacklist": "s", "exclude": "b"},
        {"whitelist": "s", "include": "b", "replace.null.with.default": "maybe"},
        {"exclude": "s", **_KEEP},
        {"exclude": ""},
        {"exclude": ","},
    ),
    *_both(
        "InsertField",
        (*ROWS, "outer", "outer null", "plain number", "text"),
        {"topic.field": "topic", "partition.field": "part!", "timestamp.field": "at", "static.field": "st", "static.value": "v"},
        {"topic.field": "topic!", "timestamp.field": "at!", "static.field": "st!", "static.value": " v ", **_KEEP},
        {"static.field": "s", "static.value": "v"},
        {"static.field": "st"},
        {"static.value": "v"},
        {},
        {"offset.field": "off"},
        {"offset.field": "off?", "topic.field": "t?"},
        {"topic.field": ""},
        {"topic.field": "?"},
        {"topic.field": "a?!"},
        {"topic.field": "x", "static.field": "x", "static.value": "v"},
        {"static.field": "st", "static.value": ""},
    ),
    *_both(
        "ExtractField",
        (*ROWS, "outer", "outer nulls", "outer null", "plain nested", "text"),
        {"field": "id"},
        {"field": "k"},
        {"field": "s"},
        {"field": "s", **_KEEP},
        {"field": "i64", **_KEEP},
        {"field": "n"},
        {"field": "n.x"},
        {"field": "a.b"},
        {"field": "n.x", "field.syntax.version": "V2"},
        {"field": "n.x", "field.syntax.version": "v2"},
        {"field": "n.deep.z", "field.syntax.version": "V2"},
        {"field": "n.`dot.ted`", "field.syntax.version": "V2"},
        {"field": "`a.b`", "field.syntax.version": "V2"},
        {"field": "req.deep.l", "field.syntax.version": "V2"},
        {"field": "req.x", "field.syntax.version": "V2", **_KEEP},
        {"field": "top.x", "field.syntax.version": "V2"},
        {"field": "n.y.z", "field.syntax.version": "V2"},
        {"field": "none.x", "field.syntax.version": "V2"},
        {"field": "n.", "field.syntax.version": "V2"},
        {"field": "", "field.syntax.version": "V2"},
        {"field": "`a.b", "field.syntax.version": "V2"},
        {"field": "`a\\`.b`.c", "field.syntax.version": "V2"},
        {"field": "`a\\`", "field.syntax.version": "V2"},
        {"field": "`a`b`.c", "field.syntax.version": "V2"},
        {"field": "id", "field.syntax.version": "V3"},
        {"field": ""},
        {},
    ),
    *_cases("Filter", ("row", "tombstone"), {}),
    *_cases(
        "RegexRouter",
        ("row", "tombstone"),
        {"regex": "s\\.(.*)\\.(.*)", "replacement": "$2-$1"},
        {"regex": "x", "replacement": "y"},
        {"regex": "s", "replacement": "y"},
        {"regex": ".*", "replacement": ""},
        {"regex": "(?<first>.).*", "replacement": "${first}$1\\$"},
        {"regex": "(.*)", "replacement": "$10"},
        {"regex": "(.*)", "replacement": "$2"},
        {"regex": "(", "replacement": "x"},
        {"regex": "(.*)"},
        {"replacement": "x"},
    ),
    *_cases("predicates.HasHeaderKey", ("row", "nulls"), {"name": "h"}, {"name": "g"}, {"name": "x"}, {"name": ""}, {}),
    *_cases("predicates.RecordIsTombstone", ("row", "tombstone", "plain null", "outer null", "no timestamp"), {}),
    *_cases("predicates.TopicNameMatches", ("row",), {"pattern": "s.*"}, {"pattern": "public"}, {"pattern": "("}, {"pattern": ""}, {}),
    *_both(
        "Cast",
        (*ROWS, "lists"),
        *({"spec": f"{_CASTABLE}:{kind}".replace(",", f":{kind},")} for kind in _TYPES),
        {"spec": "id:string, s : INT8", **_KEEP},
        {"spec": "i16:int64,s:boolean,b:float64", **_KEEP},
        {"spec": "bin:string,day:string,time:string,ts:string,dec:string,micro:string"},
        {"spec": "bin:int32"},
        {"spec": "none:int32"},
        {"spec": "arr:string"},
        {"spec": "id"},
        {"spec": "id:"},
        {"spec": ":int8"},
        {"spec": "id:int8:x"},
        {"spec": "id:bytes"},
        {"spec": "bytes"},
        {"spec": "array"},
        {"spec": "int8,id:int8"},
        {"spec": "int8,int16"},
        {"spec": "id:int8,id:int8"},
        {"spec": "id:int8,id:int16"},
        {"spec": ""},
        {"spec": ","},
        {},
    ),
    *_cases("Cast$Value", _WHOLE, *({"spec": kind} for kind in _TYPES)),
    *_cases("Cast$Key", ("number text", "small", "plain number"), {"spec": "string"}, {"spec": "int8"}),
    *_both(
        "MaskField",
        (*ROWS, "lists", "no lists", "text"),
        {"fields": "id,i8,i16,i64,f32,f64,b,s,dec,day,time,ts,micro,n,f"},
        {"fields": "id,i8,i16,i64,f32,f64", "replacement": "7", **_KEEP},
        {"fields": "s", "replacement": "***"},
        {"fields": "s", **_KEEP},
        {"fields": "s,f", "replacement": "1.5"},
        {"fields": "f32,f64,dec", "replacement": "1.50"},
        {"fields": "i8", "replacement": "300"},
        {"fields": "b", "replacement": "true"},
        *(
            {"fields": name, "replacement": text}
            for name in ("i8,i16", "id,i64", "f32,f64", "dec")
            for text in ("1.5", "1e400", "abc", "0x1p3")
        ),
        {"fields": "i16", "replacement": "99999999999999999999"},
        {"fields": "id", "replacement": "99999999999"},
        {"fields": "day", "replacement": "1"},
        {"fields": "bin"},
        {"fields": "arr,m"},
        {"fields": "arr", "replacement": "x"},
        {"fields": "none"},
        {"fields": "id", "replacement": ""},
        {"fields": ""},
        {"fields": "id,"},
        {"fields": "id,id"},
        {},
    ),
    *_both(
        "SetSchemaMetadata",
        (*ROWS, "outer", "outer null", "text", "small", "array", "timestamp", "no timestamp"),
        {"schema.name": "new", "schema.version": "9"},
        {"schema.name": "new"},
        {"schema.version": "-1", **_KEEP},
        {},
        {"schema.version": "x"},
        {"schema.name": ""},
    ),
    *_both(
        "HeaderFrom",
        (*ROWS, "outer", "outer nulls", "lists", "text"),
        {"fields": "id,s", "headers": "h1,h2", "operation": "move"},
        {"fields": "id,k", "headers": "h1,h2", "operation": "copy"},
        {"fields": "id,s", "headers": "h1,h2", "operation": "copy"},
        {"fields": "id,i16,s", "headers": "h1,h2,h", "operation": "move", **_KEEP},
        {"fields": "n,top", "headers": "n,t", "operation": "move"},
        {"fields": "arr,m", "headers": "a,m", "operation": "copy"},
        {"fields": "none", "headers": "a", "operation": "copy"},
        {"fields": "id", "headers": "a,b", "operation": "copy"},
        {"fields": "id", "headers": "a", "operation": "Copy"},
        {"fields": "id,id", "headers": "a,b", "operation": "copy"},
        {"fields": "id,s", "headers": "a,a", "operation": "copy"},
        {"fields": "", "headers": "", "operation": "copy"},
        {"fields": "id", "headers": "a"},
        {},
    ),
    *_both(
        "HoistField",
        (*ROWS, "outer null", "text", "small", "array"),
        {"field": "w"},
        {"field": ""},
        {"field": "a.b"},
        {},
    ),
    *_both(
        "Flatten",
        (*ROWS, "outer", "outer nulls", "outer null", "plain nested", "lists", "text"),
        {},
        {"delimiter": "_"},
        {"delimiter": ""},
        {"delimiter": " x "},
    ),
    *_cases(
        "ValueToKey",
        (*ROWS, "outer", "outer nulls", "lists", "text"),
        {"fields": "id"},
        {"fields": "s,id"},
        {"fields": "i16, s", **_KEEP},
        {"fields": "n,top"},
        {"fields": "none"},
        {"fields": "id,id"},
        {"fields": ""},
        {"fields": ","},
        {},
    ),
    *_cases(
        "DropHeaders", ("row", "nulls"), {"headers": "h"}, {"headers": "g,x"}, {"headers": "h,g"}, {"headers": ""}, {"headers": "h,h"}, {}
    ),
    *_cases(
        "InsertHeader",
        ("row", "tombstone"),
        *({"header": "new", "value.literal": text} for text in ("text", "1", "1.5", "true", "null", "", "2024-01-31", "[1,2]", '{"a":1}')),
        {"header": "h", "value.literal": " 300 "},
        {"header": "", "value.literal": "x"},
        {"header": "x"},
        {"value.literal": "x"},
        {},
    ),
    *_cases(
        "TimestampConverter$Value",
        _TIMES,
        *({"target.type": kind, "format": "yyyy-MM-dd HH:mm:ss"} for kind in ("string", "unix", "Date", "Time", "Timestamp")),
        *({"target.type": "unix", "unix.precision": unit} for unit in ("seconds", "milliseconds", "microseconds", "nanoseconds")),
        {"target.type": "Timestamp", "unix.precision": "seconds"},
        {"target.type": "string", "unix.precision": "microseconds", "format": "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"},
        {"target.type": "Date", "unix.precision": "nanoseconds"},
    ),
    *_both(
        "TimestampConverter",
        ("row", "nulls", "odd", "tombstone", "outer null", "plain", "plain null", "plain text", "text"),
        {"field": "id", "target.type": "unix"},
        {"field": "k", "target.type": "Date", "format": "yyyy"},
        {"field": "ts", "target.type": "string", "format": "yyyyMMddHHmmssSSS"},
        {"field": "ts", "target.type": "unix", **_KEEP},
        {"field": "day", "target.type": "Timestamp"},
        {"field": "time", "target.type": "string", "format": "HH:mm:ss"},
        {"field": "micro", "target.type": "Timestamp", "unix.precision": "microseconds"},
        {"field": "i64", "target.type": "Time"},
        {"field": "s", "target.type": "Date", "format": "dd"},
        {"field": "s", "target.type": "unix", "format": "dd", **_KEEP},
        {"field": "s", "target.type": "unix"},
        {"field": "none", "target.type": "unix"},
        {"field": "dec", "target.type": "unix"},
        {"target.type": "string"},
        {"target.type": "string", "format": "bad"},
        {"target.type": "string", "format": " "},
        {"target.type": "date"},
        {"target.type": "unix", "unix.precision": "minutes"},
        {},
    ),
    *_cases(
        "TimestampRouter",
        ("row", "nulls", "tombstone"),
        {},
        {"topic.format": "${timestamp}.${topic}.${topic}", "timestamp.format": "yyyy"},
        {"topic.format": "x"},
        {"timestamp.format": "b"},
        {"timestamp.format": "'$1'"},
        {"timestamp.format": ""},
    ),
    *_cases("ReplaceField$Key", _KEYS, {"blacklist": "x"}, {"whitelist": "x,y"}, {"exclude": "y", **_KEEP}),
    *_cases("ExtractField$Key", _KEYS, {"field": "deep.z", "field.syntax.version": "V2"}, {"field": "x"}, {"field": "x", **_KEEP}),
    *_cases("HeaderFrom$Key", _KEYS, *({"fields": "x", "headers": "made", "operation": "copy", **more} for more in ({}, _KEEP))),
    *_cases("InsertField$Key", _KEYS, {"offset.field": "off"}),
    *_cases("SetSchemaMetadata$Key", _KEYS, {"schema.name": "made", **_KEEP}),
    *_cases("Cast$Key", _KEYS, *({"spec": "x:string", **more} for more in ({}, _KEEP))),
    *_cases(
        "TimestampConverter$Key",
        _KEYS,
        *({"field": "x", "target.type": "Timestamp", "unix.precision": "seconds", **more} for more in ({}, _KEEP)),
    ),
)
