"""Values as text: as Java's ``toString`` writes them, and as Groovy does within strings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from connector.java.floats import java_double, java_float
from connector.java.regex.matching import Pattern
from connector.record.schema import Schema
from connector.transforms.scripting.groovy.budget import MOST_BITS
from connector.transforms.scripting.groovy.values import (
    Date,
    Float,
    JavaClass,
    JavaMap,
    MapEntry,
    Range,
    RecordHeader,
    SchemaType,
    Struct,
    StructField,
    class_of,
)
from connector.transforms.scripting.problem import EvaluationError

_TYPES: Final = {"float": "FLOAT32", "double": "FLOAT64"}
_DEEPEST: Final = 50


def type_name(schema: Schema) -> str:
    """The name of a schema's ``Schema.Type``."""
    return _TYPES.get(schema.type, schema.type.upper())


def text_of(value: Any, *, groovy: bool = True, depth: int = 0) -> str:
    """The text of a value; maps are ``[a:1]`` for Groovy and ``{a=1}`` for Java. Raises EvaluationError."""
    if isinstance(value, str):
        return str(value)
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        return (java_float(value) if isinstance(value, Float) else java_double(value)).decode().strip('"')
    if isinstance(value, int):
        return int.__repr__(value) if value.bit_length() <= MOST_BITS else _too_large()
    if isinstance(value, Decimal):
        return str(value)
    if depth > _DEEPEST:
        raise EvaluationError(f"Values are nested more than {_DEEPEST} deep")

    def inner(each: Any) -> str:
        return text_of(each, groovy=groovy, depth=depth + 1)

    match value:
        case Range(text=text) if not groovy:
            return str(text)
        case list():
            return f"[{', '.join(map(inner, value))}]"
        case JavaMap():
            if groovy:
                return f"[{', '.join(f'{inner(key)}:{inner(each)}' for key, each in value.items()) or ':'}]"
            return f"{{{', '.join(f'{inner(key)}={inner(each)}' for key, each in value.items())}}}"
        case MapEntry(key, held):
            return f"{inner(key)}={inner(held)}"
    return _object_text(value, depth)


def _object_text(value: Any, depth: int) -> str:
    match value:
        case Struct():
            shown = ((name, value.get(name)) for name in value.reader.fields if value.row[name] is not None)
            return f"Struct{{{','.join(f'{name}={text_of(each, groovy=False, depth=depth + 1)}' for name, each in shown)}}}"
        case Schema(name=name):
            return f"Schema{{{type_name(value)}}}" if name is None else f"Schema{{{name}:{type_name(value)}}}"
        case StructField(name, index, schema):
            return f"Field{{name={name}, index={index}, schema={text_of(schema)}}}"
        case RecordHeader(held, schema):
            return f"RecordHeader [value={text_of(held, groovy=False)}, schema={text_of(schema)}]"
        case SchemaType(name):
            return name
        case Pattern(source=source):
            return str(source)
        case JavaClass(name):
            return f"class {name}"
        case Date(time):
            return date_text(time)
        case bytes():
            return f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]"
    raise EvaluationError(f"A {class_of(value)} has no text here")


def date_text(time: int) -> str:
    """``Date.toString`` in UTC. Raises EvaluationError beyond the year 9999."""
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time)
    except OverflowError:
        raise EvaluationError("A date beyond the year 9999 has no text here") from None
    return at.strftime("%a %b %d %H:%M:%S UTC ") + f"{at.year:04d}"


def _too_large() -> str:
    raise EvaluationError(f"A BigInteger has more than {MOST_BITS} bits")
