"""The methods of String, of Groovy's additions to it, and of GString."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from connector.java.regex.matching import Pattern
from connector.java.trim import trim
from connector.transforms.scripting.groovy import conversion, patterns
from connector.transforms.scripting.groovy.budget import MOST_BITS, Budget, text_of_length
from connector.transforms.scripting.groovy.comparison import utf16
from connector.transforms.scripting.groovy.indexing import at_index
from connector.transforms.scripting.groovy.lambdas import Lambda, closure, passes
from connector.transforms.scripting.groovy.numbers import wrapped
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import Array, BigInteger, Character, Long, Range, class_of
from connector.transforms.scripting.problem import EvaluationError

Method = Callable[..., Any]
_COMPARED: Final = 100
"""Characters of a part that are compared in one step where that is done for each place."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise EvaluationError(f"A String is expected, not a {class_of(value)}")
    return str(value)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise EvaluationError(f"A whole number is expected, not a {class_of(value)}")
    return int(value)


def _substring(text: str, start: Any, end: Any = None) -> str:
    low, high = _number(start), len(text) if end is None else _number(end)
    if not 0 <= low <= high <= len(text):
        raise EvaluationError("A substring begins or ends outside of its string")
    return text[low:high]


def _replace(text: str, old: Any, new: Any) -> str:
    found, by = _text(old), _text(new)
    text_of_length(len(text) + text.count(found) * len(by))
    return text.replace(found, by)


def _replace_all(text: str, pattern: Any, replacement: Any) -> str:
    if isinstance(replacement, Lambda):
        raise EvaluationError("replaceAll with a closure is not supported")
    return patterns.replaced(text, _pattern(pattern), _text(replacement))


def _pattern(value: Any) -> str:
    return value.source if isinstance(value, Pattern) else _text(value)


def _split(text: str, pattern: Any = None, limit: Any = 0) -> list[Any]:
    if pattern is None:
        return Array(text.split())
    return Array(patterns.split(text, _pattern(pattern), _number(limit)))


def _tokenize(text: str, delimiters: Any = " \t\n\r\f") -> list[Any]:
    signs = _text(delimiters)
    return [part for part in re.split(f"[{re.escape(signs)}]" if signs else "(?!)", text) if part]


def _padded(text: str, width: Any, padding: Any, side: str) -> str:
    size, sign = _number(width), _text(padding)
    text_of_length(size)
    missing = max(0, size - len(text))
    left = {"left": missing, "right": 0, "both": missing // 2}[side]

    def fill(length: int) -> str:
        return (sign * length)[:length] if sign else ""

    return fill(left) + text + fill(missing - left)


def _repeat(text: str, times: Any) -> str:
    count = _number(times)
    if count < 0:
        raise EvaluationError("A string is repeated a negative number of times")
    text_of_length(len(text) * count)
    return text * count


def _reads(read: Callable[..., Any], *arguments: Any) -> Method:
    """Whether a text is such a number."""

    def found(text: str) -> bool:
        try:
            read(text, *arguments)
        except EvaluationError:
            return False
        return True

    return found


def _take(text: str, count: Any) -> str:
    return text[: max(0, _number(count))]


def _drop(text: str, count: Any) -> str:
    return text[max(0, _number(count)) :]


def _take_right(text: str, count: Any) -> str:
    return text[max(0, len(text) - max(0, _number(count))) :]


def _drop_right(text: str, count: Any) -> str:
    return text[: max(0, len(text) - max(0, _number(count)))]


def _index_of(text: str, part: Any, start: Any = 0) -> int:
    wanted = chr(_number(part)) if isinstance(part, int) else _text(part)
    return text.find(wanted, max(0, _number(start)))


def _compare(text: str, other: Any) -> int:
    one, two = utf16(text), utf16(_text(other))
    for at in range(0, min(len(one), len(two)), 2):
        if one[at : at + 2] != two[at : at + 2]:
            return int.from_bytes(one[at : at + 2], "big") - int.from_bytes(two[at : at + 2], "big")
    return (len(one) - len(two)) // 2


def hash_code(text: str) -> int:
    """``String.hashCode``."""
    found = 0
    data = utf16(text)
    for at in range(0, len(data), 2):
        found = (31 * found + (data[at] << 8) + data[at + 1]) & 0xFFFFFFFF
    return wrapped(found, 32)


def _find(text: str, pattern: Any) -> Any:
    match = next(patterns.every(text, _pattern(pattern)), None)
    return None if match is None else match[0]


def _find_all(text: str, pattern: Any) -> list[Any]:
    return [match[0] for match in patterns.every(text, _pattern(pattern))]


def _find_by(budget: Budget, text: str, wanted: Any) -> Any:
    if isinstance(wanted, Lambda):
        return next((sign for sign in _characters(text, budget) if passes(wanted, sign)), None)
    budget.take(patterns.steps(text, _pattern(wanted)))
    return _find(text, wanted)


def _find_all_by(budget: Budget, text: str, wanted: Any) -> list[Any]:
    if isinstance(wanted, Lambda):
        return [sign for sign in _characters(text, budget) if passes(wanted, sign)]
    budget.take(patterns.steps(text, _pattern(wanted)))
    return _find_all(text, wanted)


def _count(budget: Budget, text: str, part: Any) -> int:
    """Count where the part begins, also within another one; an empty part, at each place."""
    wanted = _text(part)
    if len(wanted) < 2:
        return text.count(wanted)
    found, at = 0, text.find(wanted)
    while at >= 0:
        budget.take(len(wanted) // _COMPARED)
        found += 1
        at = text.find(wanted, at + 1)
    return found


def _characters(text: str, budget: Budget) -> list[Any]:
    budget.take(len(text))
    return [str(sign) for sign in text]


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _to_boolean(text: str) -> bool:
    return trim(text).lower() in ("true", "y", "1")


def _minus(text: str, part: Any) -> str:
    return text.replace(text_of(part), "", 1)


def by_units(method: Method, text: str, arguments: tuple[Any, ...]) -> Any:
    """Call a method that counts characters: Java counts UTF-16 units, so that a character beyond U+FFFF counts twice."""
    if max(text) <= "\uffff":
        return method(text, *arguments)
    found = method(_units(text), *(_units(each) if isinstance(each, str) else each for each in arguments))
    return type(found)(found.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")) if isinstance(found, str) else found


def _units(text: str) -> str:
    data = utf16(text)
    return "".join(chr(data[at] << 8 | data[at + 1]) for at in range(0, len(data), 2))


# fmt: off
BY_UNITS: Final = frozenset(
    [
        "length", "size", "substring", "subSequence", "charAt", "indexOf", "lastIndexOf", "take", "drop", "takeRight",
        "dropRight", "getAt", "padLeft", "padRight", "center",
    ]
)
# fmt: on

SIMPLE: Final[dict[str, Method]] = {
    "startsWith": lambda text, part, start=0: text.startswith(_text(part), max(0, _number(start))),
    "endsWith": lambda text, part: text.endswith(_text(part)),
    "contains": lambda text, part: _text(part) in text,
    "startsWithIgnoreCase": lambda text, part: text.lower().startswith(_text(part).lower()),
    "endsWithIgnoreCase": lambda text, part: text.lower().endswith(_text(part).lower()),
    "containsIgnoreCase": lambda text, part: _text(part).lower() in text.lower(),
    "equalsIgnoreCase": lambda text, other: isinstance(other, str) and text.upper().lower() == other.upper().lower(),
    "matches": lambda text, pattern: patterns.matches(text, _pattern(pattern)),
    "compareTo": _compare,
    "compareToIgnoreCase": lambda text, other: _compare(text.upper().lower(), _text(other).upper().lower()),
    "toLowerCase": str.lower,
    "toUpperCase": str.upper,
    "trim": trim,
    "strip": str.strip,
    "length": len,
    "size": len,
    "isEmpty": lambda text: not text,
    "isBlank": lambda text: not text.strip(),
    "isAllWhitespace": lambda text: not text.strip(),
    "substring": _substring,
    "subSequence": _substring,
    "charAt": lambda text, at: Character(_substring(text, at, _number(at) + 1)),
    "split": _split,
    "tokenize": _tokenize,
    "replace": _replace,
    "replaceAll": _replace_all,
    "replaceFirst": lambda text, pattern, by: patterns.replaced(text, _pattern(pattern), _text(by), first=True),
    "indexOf": _index_of,
    "lastIndexOf": lambda text, part: text.rfind(_text(part)),
    "concat": lambda text, other: text + _text(other),
    "plus": lambda text, other: text + text_of(other, groovy=not isinstance(other, Range)),
    "minus": _minus,
    "multiply": _repeat,
    "repeat": _repeat,
    "capitalize": _capitalize,
    "uncapitalize": lambda text: text[:1].lower() + text[1:],
    "reverse": lambda text: text[::-1],
    "padLeft": lambda text, width, padding=" ": _padded(text, width, padding, "left"),
    "padRight": lambda text, width, padding=" ": _padded(text, width, padding, "right"),
    "center": lambda text, width, padding=" ": _padded(text, width, padding, "both"),
    "take": _take,
    "drop": _drop,
    "takeRight": _take_right,
    "dropRight": _drop_right,
    "getAt": at_index,
    "toInteger": lambda text: conversion.read_whole(text, 32),
    "toLong": lambda text: Long(conversion.read_whole(text, 64)),
    "toShort": lambda text: conversion.to_type(conversion.read_whole(text, 16), "Short"),
    "toBigInteger": lambda text: BigInteger(conversion.read_whole(text, MOST_BITS)),
    "toBigDecimal": conversion.read_decimal,
    "toDouble": conversion.read_double,
    "toFloat": conversion.read_float,
    "toBoolean": _to_boolean,
    "isInteger": _reads(conversion.read_whole, 32),
    "isLong": _reads(conversion.read_whole, 64),
    "isBigInteger": _reads(conversion.read_whole, MOST_BITS),
    "isNumber": _reads(conversion.read_decimal),
    "isBigDecimal": _reads(conversion.read_decimal),
    "isDouble": _reads(conversion.read_double),
    "isFloat": _reads(conversion.read_float),
    "toList": lambda text: [str(sign) for sign in text],
    "hashCode": hash_code,
    "intern": lambda text: text,
}

BY_CHARACTERS: Final = frozenset(("hashCode", "compareTo", "compareToIgnoreCase", "tokenize", "equalsIgnoreCase"))
"""Methods that look at characters one by one, which takes longer."""
WITH_PATTERNS: Final = frozenset(("matches", "split", "replaceAll", "replaceFirst", "find", "findAll"))

WITH_CLOSURES: Final[dict[str, Method]] = {
    "any": lambda budget, text, test: any(passes(closure(test), sign) for sign in _characters(text, budget)),
    "every": lambda budget, text, test: all(passes(closure(test), sign) for sign in _characters(text, budget)),
    "collect": lambda budget, text, change: [closure(change)(sign) for sign in _characters(text, budget)],
    "count": _count,
    "find": _find_by,
    "findAll": _find_all_by,
}
"""Methods that use the budget."""
