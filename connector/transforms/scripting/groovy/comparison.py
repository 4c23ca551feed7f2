"""Truth, equality and order, as Groovy's operators have them (Groovy language documentation, "Groovy truth", "Relational operators")."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from connector.transforms.scripting.groovy import numbers
from connector.transforms.scripting.groovy.numbers import is_number
from connector.transforms.scripting.groovy.patterns import finds
from connector.transforms.scripting.groovy.values import (
    Character,
    Date,
    JavaClass,
    JavaMap,
    JavaSet,
    MapEntry,
    Matcher,
    SchemaType,
    Struct,
    class_of,
    identity,
)
from connector.transforms.scripting.problem import EvaluationError


def truth(value: Any) -> bool:
    """Whether a value counts as true: not null, zero, NaN or empty; a matcher that finds something."""
    if value is None or value is True or value is False:
        return bool(value)
    if isinstance(value, float):
        return bool(value) and value == value  # noqa: PLR0124 - only NaN differs from itself
    if isinstance(value, Character):
        return value != "\0"
    if isinstance(value, (int, Decimal, str, list, JavaMap)):
        return bool(value)
    if isinstance(value, Matcher):
        return finds(value)
    return True


def equal(left: Any, right: Any) -> bool:
    """``left == right``: numbers by their value, lists and maps by their members."""
    if left is None or right is None:
        return left is right
    if type(left) is str and type(right) is str:
        return bool(left == right)
    if isinstance(left, list) and isinstance(right, list):
        if isinstance(left, JavaSet) != isinstance(right, JavaSet):
            return False
        if isinstance(left, JavaSet):
            return len(left) == len(right) and set(map(_by_value, left)) == set(map(_by_value, right))
        return len(left) == len(right) and all(equal(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, JavaMap) and isinstance(right, JavaMap):
        return len(left) == len(right) and all(key in right and equal(each, right.get(key)) for key, each in left.items())
    if isinstance(left, MapEntry) and isinstance(right, MapEntry):
        return equal(left.key, right.key) and equal(left.value, right.value)
    found = _compared(left, right)
    return found == 0 if found is not None else _same(left, right)


def java_equal(left: Any, right: Any) -> bool:
    """``left.equals(right)`` in Java: numbers of different classes differ."""
    if isinstance(left, Struct) and isinstance(right, Struct):
        return left == right
    if isinstance(left, list) != isinstance(right, list):
        return False
    return bool(identity(left) == identity(right))


def alike(left: Any, right: Any) -> bool:
    """Whether two members of collections are the same for ``intersect`` and ``disjoint``: numbers are by their value."""
    if left is None or right is None:
        return left is right
    found = _compared(left, right)
    return found == 0 if found is not None else java_equal(left, right)


def compare(left: Any, right: Any) -> int:
    """``left <=> right``; null is the least. Raises EvaluationError for what has no order."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    found = _compared(left, right)
    if found is None:
        raise EvaluationError(f"Cannot compare {class_of(left)} with {class_of(right)}")
    return found


def _compared(left: Any, right: Any) -> int | None:
    """The order of two values that have one; None for others."""
    if is_number(left):
        if is_number(right):
            return numbers.compared(left, right)
        return numbers.compared(left, ord(right)) if _single(right) else None
    if isinstance(left, str):
        if isinstance(right, str):
            if left.isascii() and right.isascii():
                return (left > right) - (left < right)
            return (utf16(left) > utf16(right)) - (utf16(left) < utf16(right))
        return numbers.compared(ord(left), right) if is_number(right) and _single(left) else None
    if isinstance(left, bool) and isinstance(right, bool):
        return left - right
    if isinstance(left, Date) and isinstance(right, Date):
        return (left.time > right.time) - (left.time < right.time)
    return None


def _by_value(value: Any) -> Any:
    """The same for numbers of one value, whatever their classes."""
    return value if is_number(value) else identity(value)


def utf16(text: str) -> bytes:
    """What Java orders texts by: their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def _single(value: Any) -> bool:
    return isinstance(value, (str, Character)) and len(value) == 1


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, (SchemaType, JavaClass, Struct)):
        return bool(left == right)
    return java_equal(left, right)
