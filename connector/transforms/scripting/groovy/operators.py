"""The operators between two values, for all kinds of values (Groovy language documentation, "Operators")."""

from __future__ import annotations

from typing import Any, Final

from connector.java.regex.matching import Pattern
from connector.transforms.scripting.groovy import patterns
from connector.transforms.scripting.groovy.budget import Budget, list_of_length, text_of_length
from connector.transforms.scripting.groovy.comparison import compare, equal, java_equal, truth
from connector.transforms.scripting.groovy.conversion import is_instance, unique
from connector.transforms.scripting.groovy.lambdas import Lambda, passes
from connector.transforms.scripting.groovy.numbers import arithmetic, is_number, sized
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import (
    BigInteger,
    Byte,
    Character,
    GString,
    JavaClass,
    JavaMap,
    JavaSet,
    Long,
    Range,
    Short,
    class_of,
)
from connector.transforms.scripting.problem import EvaluationError

STEPS: Final = {"++": "+", "--": "-"}
_FOR_CHARACTERS: Final = frozenset("+-*/")
_WHOLE: Final = frozenset((int, Short, Byte, Long))


def binary(sign: str, left: Any, right: Any) -> Any:
    """``left sign right`` for arithmetic. Raises EvaluationError."""
    if sign in STEPS:
        if not is_number(left):
            raise EvaluationError(f"The operator '{sign}' is only supported for numbers, not for {class_of(left)}")
        return arithmetic(STEPS[sign], left, right)
    if sign in ("&", "|", "^"):
        return _bits(sign, left, right)
    if is_number(left) and is_number(right) and sign != "<<":
        return arithmetic(sign, left, right)
    if type(left) is Character or (type(right) is Character and is_number(left)):
        return _of_characters(sign, left, right)
    match sign:
        case "+" if isinstance(left, str) or (isinstance(right, str) and (left is None or isinstance(left, JavaMap) or is_number(left))):
            return _joined(left, right)
        case "+" if isinstance(left, list):
            return _appended(left, right)
        case "+" if isinstance(left, JavaMap) and isinstance(right, JavaMap):
            return JavaMap([*left.items(), *right.items()])
        case "<<" if type(left) in (list, JavaSet):
            list_of_length(len(left) + 1)
            left.append(right)
            return left
        case "-" if isinstance(left, str):
            return str(left).replace(text_of(right), "", 1)
        case "-" if isinstance(left, list):
            return _without(left, right)
        case "*" if isinstance(left, (str, list)) and is_number(right):
            return _times(left, int(right))
    raise _undefined(sign, left, right)


def calculated(budget: Budget, sign: str, left: Any, right: Any) -> Any:
    """Do the same, and use up what it takes."""
    if isinstance(left, list):
        if sign == "-":
            budget.look(left)
            budget.search(left, right)
            if isinstance(right, list):
                budget.look(right)
        elif isinstance(left, JavaSet) and sign == "+":
            budget.look(left)
            budget.look(right)
    elif isinstance(left, JavaMap) or (isinstance(left, str) and sign == "-"):
        budget.look(left)
        budget.look(right)
    elif not isinstance(right, str):
        budget.look(right)
    found = binary(sign, left, right)
    return found if found is left else budget.made(found)


def _undefined(sign: str, left: Any, right: Any) -> EvaluationError:
    return EvaluationError(f"The operator '{sign}' is not defined for {class_of(left)} and {class_of(right)}")


def _of_characters(sign: str, left: Any, right: Any) -> Any:
    """A Character counts as its number, and is never joined to a text after it."""
    one, other = (ord(each) if type(each) is Character else each for each in (left, right))
    if sign not in _FOR_CHARACTERS or not is_number(one) or not is_number(other):
        raise _undefined(sign, left, right)
    return arithmetic(sign, one, other)


def _joined(left: Any, right: Any) -> str:
    made = text_of(left) + (text_of(right, groovy=False) if isinstance(right, Range) else text_of(right))
    text_of_length(len(made))
    # With anything but a text, Groovy makes a String of a GString.
    return GString(made) if isinstance(left, GString) and type(right) in (str, GString) else made


def _appended(left: list[Any], right: Any) -> list[Any]:
    made = [*left, *(right if isinstance(right, list) else [right])]
    list_of_length(len(made))
    return unique(made) if isinstance(left, JavaSet) else made


def _without(left: list[Any], right: Any) -> list[Any]:
    removed = right if isinstance(right, list) else [right]
    kept = [each for each in left if not any(equal(each, other) for other in removed)]
    return JavaSet(kept) if isinstance(left, JavaSet) else kept


def _times(value: Any, count: int) -> Any:
    if count < 0:
        raise EvaluationError("A string or list is repeated a negative number of times")
    if isinstance(value, str):
        text_of_length(len(value) * count)
        return str(value) * count
    list_of_length(len(value) * count)
    return JavaSet(value if count else ()) if isinstance(value, JavaSet) else list(value) * count


def _bits(sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, bool) and (isinstance(right, bool) or right is None):
        other = bool(right)
        return left & other if sign == "&" else left | other if sign == "|" else left ^ other
    if isinstance(left, int) and isinstance(right, int) and not isinstance(left, bool) and not isinstance(right, bool):
        one, two = int(left), int(right)
        return sized(one & two if sign == "&" else one | two if sign == "|" else one ^ two, left, right)
    raise _undefined(sign, left, right)


def ordered(left: Any, right: Any) -> bool:
    """Whether two values can be compared."""
    try:
        compare(left, right)
    except EvaluationError:
        return False
    return True


def in_range(value: Any, low: Any, high: Any, *, exclusive: bool) -> bool | None:
    """``value in low..high`` without the members of the range; None for a range that is not of whole numbers."""
    kinds = {type(low), type(high)}
    if not kinds <= _WHOLE:
        return None
    if exclusive:
        if low == high:
            return False
        high = int(high) - (1 if low < high else -1)
    if kinds != {int}:
        # It compares by value, while one of two Integers holds Integers only.
        return is_number(value) and min(low, high) <= value <= max(low, high) and value == int(value)
    return type(value) in (int, BigInteger) and min(low, high) <= value <= max(low, high)


def within(value: Any, container: Any, budget: Budget) -> bool:
    """``value in container``, and what a ``case`` asks of its label (``isCase``)."""
    match container:
        case None:
            return value is None
        case list():
            budget.search(container, value)
            same = equal if isinstance(container, Range) and container.by_value else java_equal
            return any(same(value, each) for each in container)
        case JavaMap():
            return truth(container.get(value))
        case Pattern():
            return value is not None and matched(text_of(value), container.source, budget)
        case Lambda():
            return passes(container, value)
        case JavaClass():
            return is_instance(value, container.simple)
        case str():
            return value is not None and text_of(value) == container
    return equal(container, value)


def matched(text: str, source: str, budget: Budget) -> bool:
    """``text ==~ pattern``."""
    budget.take(patterns.steps(text, source, whole=True))
    return patterns.matches(text, source)
