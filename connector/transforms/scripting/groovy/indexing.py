"""``value[index]`` on strings, lists, maps and matchers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from connector.transforms.scripting.groovy.numbers import whole
from connector.transforms.scripting.groovy.patterns import every, groups
from connector.transforms.scripting.groovy.values import GString, JavaMap, Matcher, Range, class_of
from connector.transforms.scripting.problem import EvaluationError


def at_index(value: Any, index: Any) -> Any:
    """``getAt``: negative numbers count from the end; a range or a list gives several. Raises EvaluationError."""
    match value:
        case JavaMap():
            return value.get(str(index) if type(index) is GString else index)
        case Matcher():
            return _match(value, index)
        case str():
            if isinstance(index, list):
                return "".join(_items(str(value), index, strict=True))
            place = _position(len(value), index, strict=True)
            return None if place is None else str(value)[place]
        case list():
            if isinstance(index, list):
                return list(_items(value, index, strict=isinstance(index, Range)))
            position = _position(len(value), index, strict=False)
            return None if position is None else value[position]
    raise EvaluationError(f"A {class_of(value)} has no members to index")


def _position(length: int, index: Any, *, strict: bool) -> int | None:
    """A place in a list or string; None beyond the end of a list."""
    if not strict and isinstance(index, (Decimal, float)):
        index = whole(index, 32)
    if not isinstance(index, int) or isinstance(index, bool):
        raise EvaluationError(f"An index is a whole number, not a {class_of(index)}")
    position = index + length if index < 0 else int(index)
    if position < 0 or (strict and position >= length):
        raise EvaluationError("An index lies outside of its string or list")
    return position if position < length else None


def _items(value: Any, index: list[Any], *, strict: bool) -> list[Any]:
    if isinstance(index, Range) and index:
        low, high = (_position(len(value), end, strict=True) for end in (index[0], index[-1]))
        if low is not None and high is not None:
            picked = list(value[min(low, high) : max(low, high) + 1])
            return picked[::-1] if index[0] > index[-1] and low > high else picked if low <= high else picked[::-1]
    places = [_position(len(value), each, strict=strict) for each in index]
    return [None if place is None else value[place] for place in places]


def _match(value: Matcher, index: Any) -> Any:
    if not isinstance(index, int) or isinstance(index, bool):
        raise EvaluationError(f"A match is named by its number, not by a {class_of(index)}")
    matches = list(every(value.text, value.pattern.source))
    if not -len(matches) <= index < len(matches):
        raise EvaluationError("A matcher has fewer matches than the script asks for")
    return groups(matches[index], value.pattern)
