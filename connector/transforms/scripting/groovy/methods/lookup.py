"""Which methods and properties a value has, and the static methods of the classes that a script may name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from types import NoneType
from typing import Any, Final

from connector.java.regex.matching import Pattern
from connector.record.schema import Schema
from connector.transforms.scripting.groovy import numbers, patterns
from connector.transforms.scripting.groovy.budget import Budget
from connector.transforms.scripting.groovy.comparison import compare, java_equal
from connector.transforms.scripting.groovy.lambdas import Lambda
from connector.transforms.scripting.groovy.methods import collection_methods, object_methods, string_methods
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import (
    Array,
    BigInteger,
    Byte,
    Character,
    Date,
    Float,
    GString,
    JavaClass,
    JavaMap,
    JavaSet,
    Long,
    MapEntry,
    Matcher,
    Range,
    RecordHeader,
    SchemaType,
    Short,
    Struct,
    StructField,
    class_of,
)
from connector.transforms.scripting.problem import EvaluationError

Method = Callable[..., Any]
_COMMON: Final = object_methods.COMMON
_NUMBERS: Final = {**_COMMON, **object_methods.NUMBERS}
_FLOATS: Final = {**_NUMBERS, **object_methods.FLOATS}
_TEXTS: Final = {**_COMMON, **string_methods.SIMPLE}
_LISTS: Final = {**_COMMON, **collection_methods.SIMPLE}
_BY_CHARACTERS: Final = 50
"""Characters that are looked at in one step where that is done one by one."""
_BY_UNITS: Final = 1_000
"""The same where a text may have characters beyond U+FFFF, which count twice."""

SIMPLE: Final[Mapping[type, Mapping[str, Method]]] = {
    bool: {**_COMMON, **object_methods.BOOLEANS},
    **dict.fromkeys((int, Long, Short, Byte), _NUMBERS),
    BigInteger: {**_NUMBERS, "negate": numbers.negated},
    **dict.fromkeys((float, Float), _FLOATS),
    Decimal: {**_NUMBERS, **object_methods.DECIMALS},
    **dict.fromkeys((str, GString), _TEXTS),
    Character: {**_COMMON, "toUpperCase": str.upper, "toLowerCase": str.lower},
    **dict.fromkeys((list, JavaSet), _LISTS),
    Range: {**_LISTS, "toString": lambda found: found.text},
    Array: {name: method for name, method in _LISTS.items() if name not in ("isEmpty", "get", "subList")},
    JavaMap: {**_COMMON, **collection_methods.OF_MAPS},
    MapEntry: {**_COMMON, "getKey": lambda entry: entry.key, "getValue": lambda entry: entry.value},
    Struct: {**_COMMON, **object_methods.STRUCTS},
    Schema: {**_COMMON, **object_methods.SCHEMAS},
    StructField: {**_COMMON, **object_methods.FIELDS},
    SchemaType: {**_COMMON, **object_methods.SCHEMA_TYPES},
    RecordHeader: _COMMON,
    Date: {**_COMMON, **object_methods.DATES},
    JavaClass: {**_COMMON, **object_methods.CLASSES},
    Matcher: {**_COMMON, **object_methods.MATCHERS},
    Pattern: {**_COMMON, **object_methods.PATTERNS},
    bytes: _COMMON,
}
"""Methods by the value's type."""

WITH_BUDGET: Final[Mapping[type, Mapping[str, Method]]] = {
    **dict.fromkeys((str, GString), string_methods.WITH_CLOSURES),
    **dict.fromkeys((list, Range, JavaSet), collection_methods.OF_LISTS),
    Array: {name: method for name, method in collection_methods.OF_LISTS.items() if name not in ("indexOf", "containsAll")},
    JavaMap: collection_methods.OF_MAPS_WITH_BUDGET,
}
"""Methods that take the budget first, for the closures that they call or the items that they compare."""

_OF_ANY: Final = collection_methods.WITH_CLOSURES.keys() - {"count"}
"""Methods that every value has, and null: they take it for a list of one member, or of none."""

KNOWN: Final = frozenset(name for tables in (SIMPLE, WITH_BUDGET) for table in tables.values() for name in table) | {"call"}
_SCALARS: Final = frozenset((bool, int, Long, Short, Byte, BigInteger, float, Float, Decimal, Character, Date, Struct, Schema, NoneType))
"""Values whose methods take no steps."""


@lru_cache(maxsize=1024)
def _takes(method: Method, count: int) -> bool:
    """Whether a method can be called with so many arguments."""
    try:
        inspect.signature(method).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def call(value: Any, name: str, arguments: tuple[Any, ...], budget: Budget) -> Any:
    """Call a method. Raises EvaluationError for null and for what has no such method."""
    kind = type(value)
    if kind is Lambda and name == "call":
        return value(*arguments)
    method = WITH_BUDGET[kind].get(name) if kind in WITH_BUDGET else None
    if method is not None:
        # A closure takes steps of its own for each item.
        budget.take(1 + (len(value) if kind is JavaMap or not arguments else len(value) // 100))
        if _takes(method, len(arguments) + 2):
            found = method(budget, value, *arguments)
            return found if found is value else budget.made(found)
    method = SIMPLE[kind].get(name) if kind in SIMPLE else None
    if method is not None and _takes(method, len(arguments) + 1):
        if kind in _SCALARS:
            return method(value, *arguments)
        _charge(budget, name, value, arguments)
        if kind is str and not value.isascii() and name in string_methods.BY_UNITS:
            return budget.made(string_methods.by_units(method, value, arguments))
        found = method(str(value) if kind is GString and name != "equals" else value, *arguments)
        return found if found is value else budget.made(found)
    if name in _OF_ANY and value is not None and kind not in WITH_BUDGET:
        found = call([value], name, arguments, budget)
        return value if name == "each" else found
    if value is None:
        if name in _OF_ANY:
            return None if name == "each" else call([], name, arguments, budget)
        if name == "toString":
            return "null"
        if name == "equals" and len(arguments) == 1:
            return arguments[0] is None
        raise EvaluationError(f"Cannot invoke method {name}() on null object")
    kinds = ", ".join(map(class_of, arguments))
    raise EvaluationError(f"No signature of method {class_of(value)}.{name}() is applicable for argument types: ({kinds})")


_OF_LENGTH: Final = ("size", "isEmpty")
"""Methods of lists and maps that look at no item."""


def _charge(budget: Budget, name: str, value: Any, arguments: tuple[Any, ...]) -> None:
    """Use up what a method takes that calls no closure."""
    if isinstance(value, str):
        budget.look(value)
        for each in arguments:
            budget.look(each)
        if name in string_methods.BY_CHARACTERS:
            budget.take(len(value) // _BY_CHARACTERS)
        elif name in string_methods.BY_UNITS and not value.isascii():
            budget.take(len(value) // _BY_UNITS)
        if name in string_methods.WITH_PATTERNS and arguments:
            given = arguments[0]
            if isinstance(given, (str, Pattern)):
                source = given.source if isinstance(given, Pattern) else str(given)
                budget.take(patterns.steps(value, source, whole=name == "matches"))
    elif name in collection_methods.DEEP:
        budget.look(value)
        for each in arguments:
            budget.look(each)
    elif isinstance(value, (list, JavaMap)):
        budget.take(1 if name in _OF_LENGTH else len(value))
    elif isinstance(value, Matcher):
        budget.take(patterns.steps(value.text, value.pattern.source))


def read_property(value: Any, name: str, budget: Budget) -> Any:
    """``value.name``. Raises EvaluationError for null and for what has no such property."""
    match value:
        case Struct():
            return budget.held(_struct_property(value, name))
        case JavaMap():
            return value.get(name)
        case None:
            raise EvaluationError(f"Cannot get property '{name}' on null object")
        case Array() if name == "length":
            return len(value)
        case list() if name not in ("class", "empty"):
            budget.take(len(value))
            return budget.made([None if each is None else read_property(each, name, budget) for each in value])
        case RecordHeader(held, schema) if name in ("value", "schema"):
            return held if name == "value" else schema
        case MapEntry(key, held) if name in ("key", "value"):
            return key if name == "key" else held
        case Schema() | StructField() if name in object_methods.SCHEMAS if isinstance(value, Schema) else name in object_methods.FIELDS:
            return call(value, name, (), budget)
        case Schema() if name in ("optional", "valueSchema"):
            return value.optional
    if name == "class":
        return object_methods.class_named(value)
    for getter in (f"get{name[:1].upper()}{name[1:]}", f"is{name[:1].upper()}{name[1:]}"):
        method = SIMPLE.get(type(value), {}).get(getter)
        if method is not None and _takes(method, 1):
            return method(value)
    raise EvaluationError(f"No such property: {name} for class: {class_of(value)}")


OWN_OF_STRUCTS: Final = frozenset(("schema", "class", "values"))
"""Members of Struct that hide fields of these names."""


def _struct_property(value: Struct, name: str) -> Any:
    """Groovy finds a Struct's own members before its ``get``: a field of these names is read only by ``get`` or in brackets."""
    if name == "schema":
        return value.reader.schema
    if name == "class":
        return object_methods.class_named(value)
    if name == "values":
        return [None if value.row[field] is None else value.get(field) for field in value.reader.fields]
    return value.get(name)


def _parsed(kind: str) -> Method:
    return lambda text: call(text, f"to{kind}", (), Budget()) if isinstance(text, str) else _refuse(kind, text)


def _refuse(kind: str, value: Any) -> Any:
    raise EvaluationError(f"A {class_of(value)} cannot be read as {kind}")


def _value_of(kind: str, method: str) -> Method:
    return lambda value: _parsed(kind)(value) if isinstance(value, str) else call(value, method, (), Budget())


def _floor(rounding: Callable[[Any], Any]) -> Method:
    def found(value: Any) -> float:
        double = numbers.double_of(value)
        return float(rounding(double)) if math.isfinite(double) else double

    return found


def _floor_mod(left: Any, right: Any) -> Any:
    if not right:
        raise EvaluationError("Division by zero")
    return numbers.sized(int(left) % int(right), left, right)


def _boolean(text: Any) -> bool:
    return isinstance(text, str) and text.lower() == "true"


def _math_abs(value: Any) -> Any:
    """``Math.abs``: a BigDecimal is a double for it, and a BigInteger an int."""
    if isinstance(value, (Decimal, BigInteger)):
        value = float(value) if isinstance(value, Decimal) else numbers.whole(value, 32)
    return call(value, "abs", (), Budget())


def _larger(sign: int) -> Method:
    """``Math.max`` and ``Math.min``: in the larger kind of both, which is double for a BigDecimal."""

    def found(left: Any, right: Any) -> Any:
        chosen = left if compare(left, right) * sign >= 0 else right
        kinds = {type(left), type(right)}
        if kinds & {float, Decimal}:
            return numbers.double_of(chosen)
        return Float(chosen) if Float in kinds else Long(chosen) if Long in kinds else chosen

    return found


STATIC: Final[Mapping[tuple[str, str], Method]] = {
    ("Integer", "parseInt"): _parsed("Integer"),
    ("Integer", "valueOf"): _value_of("Integer", "intValue"),
    ("Long", "parseLong"): _parsed("Long"),
    ("Long", "valueOf"): _value_of("Long", "longValue"),
    ("Double", "parseDouble"): _parsed("Double"),
    ("Double", "valueOf"): _value_of("Double", "doubleValue"),
    ("Boolean", "parseBoolean"): _boolean,
    ("Boolean", "valueOf"): lambda value: value if isinstance(value, bool) else _boolean(value),
    ("String", "valueOf"): lambda value: text_of(value, groovy=False),
    ("String", "join"): lambda separator, items: call(items, "join", (separator,), Budget()),
    ("Math", "abs"): _math_abs,
    ("Math", "max"): _larger(1),
    ("Math", "min"): _larger(-1),
    ("Math", "floor"): _floor(math.floor),
    ("Math", "ceil"): _floor(math.ceil),
    ("Math", "floorMod"): _floor_mod,
    ("Objects", "equals"): java_equal,
    ("Objects", "isNull"): lambda value: value is None,
    ("Objects", "nonNull"): lambda value: value is not None,
}
CONSTANTS: Final[Mapping[tuple[str, str], Any]] = {
    ("Boolean", "TRUE"): True,
    ("Boolean", "FALSE"): False,
    ("Integer", "MAX_VALUE"): 2**31 - 1,
    ("Integer", "MIN_VALUE"): -(2**31),
    ("Long", "MAX_VALUE"): Long(2**63 - 1),
    ("Long", "MIN_VALUE"): Long(-(2**63)),
}
STATIC_CLASSES: Final = frozenset(name for name, _ in (*STATIC, *CONSTANTS))
