"""Values with and without schemas that the plain converters are given, and how those are configured."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

_DATA: Final = "org.apache.kafka.connect.data."
_ALL_BYTES: Final = b64encode(b"\x00ab\xff").decode()


def _of(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "optional": False, **more}


def _maybe(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "optional": True, **more}


def _decimal(scale: int, optional: bool = False) -> dict[str, Any]:
    return {"type": "bytes", "optional": optional, "name": f"{_DATA}Decimal", "version": 1, "parameters": {"scale": str(scale)}}


def _logical(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "optional": False, "name": _DATA + name, "version": 1, **more}


def unscaled(number: int) -> str:
    """A decimal as JsonConverter reads it."""
    return b64encode(number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)).decode()


def _field(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "field": name}


_ROW: Final = _of(
    "struct",
    name="server.public.t.Value",
    version=2,
    doc='a "row"',
    fields=[
        _field("id", _of("int32")),
        _field("name", _maybe("string", default="none")),
        _field("price", _decimal(2, optional=True)),
        _field("ratio", _maybe("double")),
        _field("single", _maybe("float")),
        _field("flag", _maybe("boolean", default=True)),
        _field("data", _maybe("bytes")),
        _field("day", _logical("Date", "int32", default=1)),
        _field("hour", _logical("Time", "int32")),
        _field("at", _logical("Timestamp", "int64")),
        _field("tags", _maybe("array", items=_maybe("string"))),
        _field("map", _maybe("map", keys=_of("string"), values=_maybe("int32"))),
        _field("inner", _maybe("struct", name="inner", fields=[_field("a", _of("int16", default=7)), _field("b", _maybe("int64"))])),
    ],
)
_KEY: Final = _of("struct", name="server.public.t.Key", fields=[_field("id", _of("int32")), _field("code", _of("string"))])
_FULL: Final = {
    "id": 1,
    "name": 'x "y" é 😀 \u0007',
    "price": unscaled(1250),
    "ratio": 0.1,
    "single": 1.5,
    "flag": False,
    "data": _ALL_BYTES,
    "day": 19675,
    "hour": 3_723_456,
    "at": 1_700_000_000_123,
    "tags": ["a", None, ""],
    "map": {"a": None, "b": 1},
    "inner": {"a": 1, "b": 2},
}
_EMPTY: Final = dict.fromkeys(_FULL) | {"id": -1, "day": 0, "hour": 0, "at": -1}

TYPED: Final[tuple[tuple[dict[str, Any], Any], ...]] = (
    (_maybe("int32"), None),
    (_maybe("string"), None),
    (_maybe("struct", fields=[_field("a", _of("int32"))]), None),
    (_maybe("int32", default=5), None),
    (_maybe("string", default="d", name="n", doc="words", parameters={"p": "1", "q": "é"}), None),
    (_maybe("string", default="d"), "given"),
    (_of("boolean"), True),
    (_of("boolean"), False),
    (_of("int8"), -128),
    (_of("int8"), 127),
    (_of("int16"), -32768),
    (_of("int16"), 258),
    (_of("int32"), 2147483647),
    (_of("int32"), -2),
    (_maybe("int32"), 66051),
    (_of("int64"), -9223372036854775808),
    (_of("int64"), 72623859790382856),
    (_maybe("int64"), None),
    (_of("int64", name="io.debezium.time.MicroTimestamp", version=1), 1_700_000_000_123_456),
    (_of("float"), 1.5),
    (_of("float"), -0.1),
    (_of("float"), 16777216.0),
    (_of("double"), 0.1),
    (_of("double"), 1e7),
    (_of("double"), 12345678.5),
    (_of("double"), 1e-5),
    (_of("double"), 1.7976931348623157e308),
    (_of("string"), ""),
    (_of("string"), "plain"),
    (_of("string"), 'quote " backslash \\ line\n tab\t bell\u0007'),
    (_of("string"), "é ß € 😀 \u2028"),
    (_of("string"), "12"),
    (_of("string", name="io.debezium.data.Json", version=1), '{"a": 1}'),
    (_of("bytes"), _ALL_BYTES),
    (_of("bytes"), ""),
    (_maybe("bytes"), None),
    (_decimal(2), unscaled(1250)),
    (_decimal(0), unscaled(-7)),
    (_decimal(0), unscaled(10**30)),
    (_decimal(10), unscaled(1)),
    (_decimal(7), unscaled(0)),
    (_decimal(-3), unscaled(12)),
    (_decimal(3), unscaled(-123456)),
    (_logical("Date", "int32"), 19675),
    (_logical("Date", "int32"), -1),
    (_logical("Date", "int32"), 0),
    (_logical("Time", "int32"), 3_723_456),
    (_logical("Timestamp", "int64"), 1_700_000_000_123),
    (_logical("Timestamp", "int64"), -1),
    (_logical("Timestamp", "int64"), -62_167_219_200_001),
    (_logical("Timestamp", "int64"), 253_402_300_800_000),
    (_logical("Timestamp", "int64", default=1000), 1_709_164_800_000),
    (_of("array", items=_of("int32")), [1, 2, 3]),
    (_of("array", items=_of("int32")), []),
    (_maybe("array", items=_maybe("string")), ["a", None, "b, c", 'd"e\\f\n']),
    (_of("array", items=_of("array", items=_maybe("double"))), [[1.0, None], []]),
    (_of("array", items=_decimal(1)), [unscaled(15), unscaled(-15)]),
    (_of("array", items=_of("bytes")), [_ALL_BYTES]),
    (_of("array", items=_KEY), [{"id": 1, "code": "a"}, {"id": 2, "code": "b"}]),
    (_of("array", items=_logical("Date", "int32")), [1, 2]),
    (_of("map", keys=_of("string"), values=_of("int32")), {"a": 1}),
    (_of("map", keys=_of("string"), values=_maybe("string")), {"a": "x", 'quote"': None}),
    (_of("map", keys=_of("string"), values=_KEY), {"k": {"id": 1, "code": "a"}}),
    (_of("map", keys=_of("int32"), values=_of("string")), [[1, "x"]]),
    (_of("map", keys=_of("string"), values=_of("int32")), {}),
    (_KEY, {"id": 1, "code": "a"}),
    (_KEY, {"id": 2, "code": "é"}),
    (_ROW, _FULL),
    (_ROW, _EMPTY),
    (_of("struct", fields=[]), {}),
    (_of("struct", fields=[_field("only", _maybe("string"))]), {"only": None}),
    (
        _of("struct", fields=[_field("d", _of("double", default=1.5)), _field("s", _maybe("array", items=_of("int8")))]),
        {"d": 2.5, "s": [1]},
    ),
    (_of("struct", fields=[_field("row", _ROW)]), {"row": _FULL}),
)
"""Schemas and values as JsonConverter reads them."""

PLAIN: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -12,
    2147483648,
    0.5,
    1e10,
    "",
    "text",
    'q"uote\\ é',
    [],
    [1, "a", None, 2.5, True],
    [[1], {}],
    {},
    {"a": 1},
    {"id": {"x": [1, {"y": None}]}},
    {"only": 'a "b"'},
)
"""Values without a schema, as JsonConverter reads them."""

BUFFERS: Final = (
    "bytes",
    "buffer",
    "decimal",
    "date",
    "buffer of bytes",
    "struct of buffers",
    "array of buffers",
    "map of optional keys",
    "NaN",
    "Infinity",
    "-Infinity",
)
"""Names of values that JSON cannot express; the recorder makes them."""

_KAFKA: Final = "org.apache.kafka.connect."
JSON: Final = f"{_KAFKA}json.JsonConverter"
STRING: Final = f"{_KAFKA}storage.StringConverter"
_NUMBERS: Final = tuple(
    f"{_KAFKA}converters.{name}Converter" for name in ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short")
)
_BINARY: Final = tuple(f"io.debezium.converters.{name}" for name in ("BinaryDataConverter", "ByteArrayConverter"))
_TO_JSON: Final = {"delegate.converter.type": JSON}

CONVERTERS: Final[tuple[tuple[str, dict[str, str], str], ...]] = (
    (JSON, {}, "value"),
    (JSON, {"schemas.enable": "false"}, "value"),
    (JSON, {"schemas.enable": "true", "decimal.format": "numeric", "replace.null.with.default": "false"}, "key"),
    (JSON, {"schemas.enable": "false", "decimal.format": "Numeric", "replace.null.with.default": "false"}, "key"),
    (JSON, {"schemas.enable": "false", "schema.content": '{"type":"string"}', "schemas.cache.size": "1"}, "header"),
    (STRING, {}, "value"),
    (STRING, {"converter.encoding": "ISO-8859-1"}, "key"),
    (STRING, {"converter.encoding": "UTF-16"}, "header"),
    (STRING, {"converter.encoding": "US-ASCII"}, "value"),
    (STRING, {"converter.encoding": "windows-1252"}, "value"),
    (f"{_KAFKA}storage.SimpleHeaderConverter", {}, "header"),
    *((name, {}, side) for name in _NUMBERS for side in ("value", "header")),
    *((name, {}, "value") for name in _BINARY),
    *((name, {}, "header") for name in _BINARY),
    *((name, _TO_JSON, "value") for name in _BINARY),
    *((name, {**_TO_JSON, "delegate.converter.type.schemas.enable": "false"}, "header") for name in _BINARY),
)
"""Class, options and side."""
