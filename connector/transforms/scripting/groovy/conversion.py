"""Types: ``as``, casts, ``instanceof``, and what a declared variable holds (Groovy language documentation, "Coercion operator")."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from connector.java.floats import as_float32
from connector.java.numbers import NumberError, parse_decimal, parse_double, parse_float
from connector.java.trim import trim
from connector.record.schema import Schema
from connector.transforms.scripting.groovy import numbers
from connector.transforms.scripting.groovy.budget import MOST_BITS
from connector.transforms.scripting.groovy.comparison import truth
from connector.transforms.scripting.groovy.lambdas import Lambda
from connector.transforms.scripting.groovy.numbers import is_number
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import (
    BigInteger,
    Byte,
    Character,
    Date,
    Float,
    GString,
    JavaMap,
    JavaSet,
    Long,
    Short,
    Struct,
    class_of,
    identity,
)
from connector.transforms.scripting.problem import EvaluationError

_WHOLE: Final = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST_WHOLE: Final = 100
_LONGEST_NUMBER: Final = 1_000
_LARGEST_EXPONENT: Final = 99_999
_PRIMITIVES: Final = {
    "boolean": "Boolean", "int": "Integer", "long": "Long", "short": "Short", "byte": "Byte", "double": "Double", "float": "Float",
    "char": "Character",
}  # fmt: skip


def _exactly(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


_TESTS: Final[dict[str, Callable[[Any], bool]]] = {
    "Object": lambda _: True,
    "String": _exactly(str),
    "GString": _exactly(GString),
    "CharSequence": _exactly(str, GString),
    "Character": _exactly(Character),
    "Boolean": _exactly(bool),
    "Integer": _exactly(int),
    "Long": _exactly(Long),
    "Short": _exactly(Short),
    "Byte": _exactly(Byte),
    "BigInteger": _exactly(BigInteger),
    "Double": _exactly(float),
    "Float": _exactly(Float),
    "BigDecimal": _exactly(Decimal),
    "Number": is_number,
    "List": lambda value: isinstance(value, list) and not isinstance(value, JavaSet),
    "ArrayList": _exactly(list),
    "Set": _exactly(JavaSet),
    "Collection": lambda value: isinstance(value, list),
    "Iterable": lambda value: isinstance(value, list),
    "Map": _exactly(JavaMap),
    "LinkedHashMap": _exactly(JavaMap),
    "Date": _exactly(Date),
    "Struct": _exactly(Struct),
    "Schema": _exactly(Schema),
    "Closure": _exactly(Lambda),
    "Comparable": lambda value: isinstance(value, (int, float, Decimal, str, Date)),
}


def is_instance(value: Any, type_name: str) -> bool:
    """``value instanceof Type``."""
    test = _TESTS.get(_PRIMITIVES.get(type_name, type_name))
    return value is not None and test is not None and test(value)


def to_type(value: Any, type_name: str, *, cast: bool = False) -> Any:
    """``value as Type``, or ``(Type) value`` and a declared variable's value where ``cast``. Raises EvaluationError."""
    kind = _PRIMITIVES.get(type_name, type_name)
    if kind == "Boolean":
        return truth(value) if value is not None or type_name == "boolean" else None
    if value is None:
        if type_name in _PRIMITIVES:
            raise EvaluationError(f"null cannot be a {type_name}")
        return None
    if is_instance(value, kind):
        return value
    if kind == "String":
        return text_of(value)
    if kind in _NUMBERS:
        return _number(value, kind, cast=cast)
    if kind in ("List", "Collection", "Iterable", "ArrayList", "Set") and (not cast or isinstance(value, list)):
        return _list(value, kind)
    if kind == "Character" and isinstance(value, str) and len(value) == 1:
        return Character(value)
    if kind == "Character" and is_number(value):
        return Character(chr(numbers.whole(value, 32) & 0xFFFF))
    raise EvaluationError(f"A {class_of(value)} cannot be made a {type_name}")


def _float(value: Any) -> Float:
    try:
        return Float(as_float32(float(value)))
    except (OverflowError, ValueError):
        return Float("inf" if value > 0 else "-inf")


_NUMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "Integer": lambda value: numbers.whole(value, 32),
    "Long": lambda value: Long(numbers.whole(value, 64)),
    "Short": lambda value: Short(numbers.whole(value, 16)),
    "Byte": lambda value: Byte(numbers.whole(value, 8)),
    "BigInteger": lambda value: BigInteger(numbers.whole(value, MOST_BITS)),
    "Double": numbers.double_of,
    "Float": _float,
    "BigDecimal": numbers.decimal_of,
    "Number": lambda value: value,
}


_BITS: Final = {"Integer": 32, "Long": 64, "Short": 16, "Byte": 8, "BigInteger": MOST_BITS}


def _number(value: Any, kind: str, *, cast: bool) -> Any:
    if isinstance(value, str) and kind != "Number":
        return _read(str(value), kind, cast=cast)
    if not is_number(value):
        raise EvaluationError(f"A {class_of(value)} cannot be made a {kind}")
    if kind == "Double" and not cast:
        return numbers.shortest_double(value)
    try:
        return _NUMBERS[kind](value)
    except (OverflowError, ValueError):
        raise EvaluationError(f"A {class_of(value)} cannot be made a {kind}") from None


def _read(text: str, kind: str, *, cast: bool) -> Any:
    """A number of a text: ``as`` reads it; a cast takes a single character as its number."""
    if cast:
        if len(text) == 1:
            return _NUMBERS[kind](ord(text))
        raise EvaluationError(f"A String cannot be cast to {kind}")
    if kind in _BITS:
        return _NUMBERS[kind](read_whole(text, _BITS[kind]))
    return {"Double": read_double, "Float": read_float, "BigDecimal": read_decimal}[kind](text)


def read_whole(text: str, bits: int) -> int:
    """Read a whole number of so many bits. Raises EvaluationError."""
    trimmed = trim(text)
    if len(text) > _LONGEST_WHOLE or not _WHOLE.fullmatch(trimmed):
        raise EvaluationError("A String is no whole number")
    found = int(trimmed)
    if found != numbers.wrapped(found, bits):
        raise EvaluationError("A String is a number that is too large")
    return found


def read_decimal(text: str) -> Decimal:
    """Read a BigDecimal. Raises EvaluationError."""
    found: Decimal = _parsed(parse_decimal, text)
    if abs(found.adjusted()) > _LARGEST_EXPONENT:
        raise EvaluationError("A String is a number with a large exponent")
    return found


def read_double(text: str) -> float:
    """Read a Double. Raises EvaluationError."""
    double: float = _parsed(parse_double, text)
    return double


def read_float(text: str) -> Float:
    """Read a Float. Raises EvaluationError."""
    return Float(_parsed(parse_float, text))


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    trimmed = trim(text)
    if len(trimmed) > _LONGEST_NUMBER:
        raise EvaluationError("A String is no number")
    try:
        return parse(trimmed)
    except NumberError:
        raise EvaluationError("A String is no number") from None


def _list(value: Any, kind: str) -> Any:
    items = list(value) if isinstance(value, (list, str)) else value.values() if isinstance(value, JavaMap) else None
    if items is None:
        raise EvaluationError(f"A {class_of(value)} cannot be made a {kind}")
    return unique(items) if kind == "Set" else items


def unique(items: list[Any]) -> JavaSet:
    """The members of a list as a set."""
    return JavaSet({identity(each): each for each in items}.values())
