"""The methods of numbers, booleans, dates, structs, schemas, matchers and the rest, and those that every value has."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from connector.record.schema import NO_DEFAULT, Schema
from connector.transforms.scripting.groovy import numbers, patterns
from connector.transforms.scripting.groovy.comparison import compare, java_equal, truth
from connector.transforms.scripting.groovy.conversion import to_type
from connector.transforms.scripting.groovy.methods.string_methods import hash_code
from connector.transforms.scripting.groovy.text import text_of, type_name
from connector.transforms.scripting.groovy.values import (
    Array,
    BigInteger,
    Date,
    Float,
    JavaClass,
    JavaMap,
    JavaSet,
    Long,
    Matcher,
    SchemaType,
    Struct,
    StructField,
    class_of,
    plain,
)
from connector.transforms.scripting.problem import EvaluationError

Method = Callable[..., Any]
_INTEGERS: Final = {"int8": "getInt8", "int16": "getInt16", "int32": "getInt32", "int64": "getInt64"}


def _hash(value: Any) -> int:
    """``hashCode`` of the values that have one here."""
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, str):
        return hash_code(str(value))
    if isinstance(value, Long):
        return numbers.wrapped((value ^ ((value & (2**64 - 1)) >> 32)), 32)
    if isinstance(value, int) and not isinstance(value, BigInteger):
        return int(value)
    if isinstance(value, float):
        if isinstance(value, Float):
            return int(struct.unpack(">i", struct.pack(">f", value))[0])
        return _hash(Long(struct.unpack(">q", struct.pack(">d", value))[0]))
    if isinstance(value, BigInteger):
        return numbers.wrapped(_hash_of_digits(int(value)), 32)
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        return numbers.wrapped(31 * numbers.wrapped(_hash_of_digits(unscaled), 32) - int(exponent), 32)
    if isinstance(value, list) and not isinstance(value, (Array, JavaSet)):
        found = 1
        for each in value:
            found = numbers.wrapped(31 * found + (0 if each is None else _hash(each)), 32)
        return found
    raise EvaluationError(f"hashCode of a {class_of(value)} is not supported")


def _hash_of_digits(value: int) -> int:
    """``BigInteger.hashCode``, which goes through the number's digits of 32 bits."""
    found, rest = 0, abs(value)
    for at in range(max(1, -(-rest.bit_length() // 32)) - 1, -1, -1):
        found = (31 * found + (rest >> 32 * at & 0xFFFFFFFF)) & 0xFFFFFFFF
    return -found if value < 0 else found


def class_named(value: Any) -> JavaClass:
    """``value.class``."""
    return JavaClass(class_of(value))


COMMON: Final[dict[str, Method]] = {
    "equals": java_equal,
    "toString": text_of,
    "hashCode": _hash,
    "getClass": class_named,
    "compareTo": compare,
    "asBoolean": truth,
}


def _rounded(value: Any, digits: Any = None) -> Any:
    if isinstance(value, Decimal):
        places = 0 if digits is None else int(digits)
        return numbers.rounded(value, places)
    if isinstance(value, float) and digits is None:
        bits = 32 if isinstance(value, Float) else 64
        if math.isfinite(value):
            low = math.floor(value)
            value = float(low + (value - low >= 0.5))
        found = numbers.whole(value, bits)
        return found if bits == 32 else Long(found)
    raise EvaluationError(f"round is not supported for a {class_of(value)}")


def _intdiv(left: Any, right: Any) -> Any:
    if not isinstance(left, int) or not isinstance(right, int):
        raise EvaluationError("intdiv takes whole numbers")
    if not right:
        raise EvaluationError("Division by zero")
    found = abs(left) // abs(right)
    return numbers.sized(-found if (left < 0) != (right < 0) else found, left, right)


def _arithmetic(sign: str) -> Method:
    def run(left: Any, right: Any) -> Any:
        if sign == "+" and isinstance(right, str):
            return text_of(left) + str(right)
        if not numbers.is_number(right):
            raise EvaluationError(f"A number is expected, not a {class_of(right)}")
        return numbers.arithmetic(sign, left, right)

    return run


def _remainder(left: Any, right: Any) -> Any:
    """``remainder``, a method of BigDecimal and BigInteger."""
    if not numbers.is_number(right):
        raise EvaluationError(f"A number is expected, not a {class_of(right)}")
    if isinstance(left, Decimal):
        return numbers.arithmetic("%", left, numbers.decimal_of(right))
    if isinstance(left, BigInteger) and isinstance(right, int) and right:
        found = abs(int(left)) % abs(int(right))
        return BigInteger(-found if left < 0 else found)
    return numbers.arithmetic("%", left, right)


def _absolute(value: Any) -> Any:
    return numbers.negated(value) if value < 0 else value


NUMBERS: Final[dict[str, Method]] = {
    "intValue": lambda value: numbers.whole(value, 32),
    "toInteger": lambda value: numbers.whole(value, 32),
    "longValue": lambda value: Long(numbers.whole(value, 64)),
    "toLong": lambda value: Long(numbers.whole(value, 64)),
    "shortValue": lambda value: to_type(value, "Short"),
    "byteValue": lambda value: to_type(value, "Byte"),
    "doubleValue": numbers.double_of,
    "toDouble": numbers.shortest_double,
    "floatValue": lambda value: to_type(value, "Float"),
    "toFloat": lambda value: to_type(value, "Float"),
    "toBigDecimal": numbers.decimal_of,
    "toBigInteger": lambda value: to_type(value, "BigInteger"),
    "abs": _absolute,
    "plus": _arithmetic("+"),
    "minus": _arithmetic("-"),
    "multiply": _arithmetic("*"),
    "div": _arithmetic("/"),
    "mod": _arithmetic("%"),
    "remainder": _remainder,
    "intdiv": _intdiv,
    "power": _arithmetic("**"),
    "round": _rounded,
}
DECIMALS: Final[dict[str, Method]] = {
    "negate": numbers.negated,
    "signum": lambda value: (value > 0) - (value < 0),
    "scale": lambda value: -value.as_tuple().exponent,
    "precision": lambda value: len(value.as_tuple().digits),
    "stripTrailingZeros": lambda value: value.normalize(),
    "toPlainString": lambda value: f"{value:f}",
}
FLOATS: Final[dict[str, Method]] = {
    "isNaN": lambda value: value != value,  # noqa: PLR0124 - only NaN differs from itself
    "isInfinite": lambda value: value in (float("inf"), float("-inf")),
}
BOOLEANS: Final[dict[str, Method]] = {
    "booleanValue": lambda value: value,
    "and": lambda left, right: left and bool(right),
    "or": lambda left, right: left or bool(right),
    "xor": lambda left, right: left != bool(right),
}
DATES: Final[dict[str, Method]] = {
    "getTime": lambda date: Long(date.time),
    "before": lambda date, other: _date(date).time < _date(other).time,
    "after": lambda date, other: _date(date).time > _date(other).time,
}


def _date(value: Any) -> Date:
    if not isinstance(value, Date):
        raise EvaluationError(f"A Date is expected, not a {class_of(value)}")
    return value


def _typed(*types: str) -> Method:
    def read(struct: Struct, name: Any) -> Any:
        found = struct.get(_field_name(name))
        schema = next(field.schema for field in struct.reader.schema.fields if field.name == name)
        if schema.type not in types:
            raise EvaluationError(f"Field '{name}' is not of type {'or'.join(types).upper()}")
        return found

    return read


def _field_name(name: Any) -> str:
    if not isinstance(name, str):
        raise EvaluationError(f"A field is named by a String, not by a {class_of(name)}")
    return str(name)


def _without_default(struct: Struct, name: Any) -> Any:
    found = struct.get(_field_name(name))
    return None if struct.row[name] is None else found


STRUCTS: Final[dict[str, Method]] = {
    "get": lambda struct, name: struct.get(name.name if isinstance(name, StructField) else _field_name(name)),
    "getAt": lambda struct, name: struct.get(_field_name(name)),
    "getWithoutDefault": _without_default,
    "schema": lambda struct: struct.reader.schema,
    "getString": _typed("string"),
    "getBoolean": _typed("boolean"),
    "getFloat32": _typed("float"),
    "getFloat64": _typed("double"),
    "getBytes": _typed("bytes"),
    "getStruct": _typed("struct"),
    "getArray": _typed("array"),
    "getMap": _typed("map"),
    **{method: _typed(kind) for kind, method in _INTEGERS.items()},
}


def fields_of(schema: Schema) -> list[Any]:
    """``Schema.fields``. Raises EvaluationError for a schema of another type."""
    if schema.type != "struct":
        raise EvaluationError(f"Cannot list fields on non-struct type {type_name(schema)}")
    return [StructField(field.name, at, field.schema) for at, field in enumerate(schema.fields)]


def _field(schema: Schema, name: Any) -> StructField | None:
    return next((field for field in fields_of(schema) if field.name == name), None)


SCHEMAS: Final[dict[str, Method]] = {
    "name": lambda schema: schema.name,
    "version": lambda schema: schema.version,
    "doc": lambda schema: schema.doc,
    "type": lambda schema: SchemaType(type_name(schema)),
    "isOptional": lambda schema: schema.optional,
    "defaultValue": lambda schema: None if schema.default is NO_DEFAULT else plain(schema.default),
    "parameters": lambda schema: JavaMap(schema.parameters) if schema.parameters else None,
    "fields": fields_of,
    "field": _field,
    "keySchema": lambda schema: schema.keys,
    "valueSchema": lambda schema: schema.values if schema.items is None else schema.items,
}
FIELDS: Final[dict[str, Method]] = {
    "name": lambda field: field.name,
    "index": lambda field: field.index,
    "schema": lambda field: field.schema,
}
SCHEMA_TYPES: Final[dict[str, Method]] = {
    "name": lambda kind: kind.name,
    "getName": lambda kind: kind.name.lower(),
    "isPrimitive": lambda kind: kind.name not in ("STRUCT", "ARRAY", "MAP"),
}
CLASSES: Final[dict[str, Method]] = {"getName": lambda kind: kind.name, "getSimpleName": lambda kind: kind.simple}


def _group(matcher: Matcher, number: Any = 0) -> Any:
    if matcher.found is None:
        raise EvaluationError("No match found")
    if isinstance(number, str):
        name, number = str(number), matcher.pattern.names.get(str(number))
        if number is None:
            raise EvaluationError(f"No group with name <{name}>")
    if not isinstance(number, int) or not 0 <= number <= matcher.pattern.program.groups:
        raise EvaluationError("A matcher has fewer groups than the script asks for")
    return matcher.found[f"g{number}"] if number else matcher.found[0]


def _found(matcher: Matcher, found: Any) -> bool:
    """Keep the match, after which ``find`` goes on."""
    matcher.found = found
    if found is not None:
        matcher.at = found.end() + (found.start() == found.end())
    return found is not None


def _matches(matcher: Matcher) -> bool:
    return _found(matcher, matcher.engine.fullmatch())


def _count(matcher: Matcher) -> int:
    return sum(1 for _ in patterns.every(matcher.text, matcher.pattern.source))


def looking(matcher: Matcher) -> bool:
    """``Matcher.lookingAt``."""
    return _found(matcher, matcher.engine.match())


MATCHERS: Final[dict[str, Method]] = {
    "find": patterns.finds,
    "matches": _matches,
    "lookingAt": looking,
    "group": _group,
    "groupCount": lambda matcher: matcher.pattern.program.groups,
    "hasGroup": lambda matcher: matcher.pattern.program.groups > 0,
    "getCount": _count,
    "size": lambda matcher: Long(_count(matcher)),
}
PATTERNS: Final[dict[str, Method]] = {
    "matcher": lambda pattern, text: patterns.matcher(text_of(text), pattern.source),
    "pattern": lambda pattern: pattern.source,
}
