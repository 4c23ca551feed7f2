"""What is compared: regular expressions, patterns of ``SimpleDateFormat``, numbers, properties, and the order of maps."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from random import Random
from typing import Any, Final

import re2

from connector.java.date_format import DateFormat, PatternError
from connector.java.floats import java_double, java_float
from connector.java.hash_map import java_hash, java_order
from connector.java.numbers import (
    NumberError,
    narrow_to_integer,
    parse_decimal,
    parse_double,
    parse_float,
    parse_integer,
    wrap,
    wrap_decimal,
)
from connector.java.properties import parse_properties
from connector.java.regex.findings import Malformed, Unsupported
from connector.java.regex.linear import LinearPattern, LinearText, Match
from connector.java.regex.matching import Pattern, ReplacementError, each_match
from connector.java.regex.translation import problem, translate
from connector.java.splitting import java_split
from connector.java.trim import trim
from tests.differential.java_numbers import same_number
from tests.differential.java_texts.cases import dates_case, numbers_case, order_case, properties_case, regex_case

_MOST_MATCHES: Final = 20
_LOOKING_BEHIND: Final = "Look-behind group does not have an obvious maximum length"
_NOT_COMPILED: Final = "The pattern cannot be compiled"
"""What no reason for a feature of Java's begins with that is not supported."""
_EXPONENT: Final = re.compile(r"[eE]\+?(\d+)$")
_LARGEST_EXPONENT: Final = 2**31 - 1
Difference = tuple[str, Any, Any]
"""What differs, what Java answers, and what we answer."""


def regex_differences(case: dict[str, Any], real: dict[str, Any]) -> Iterator[Difference]:
    """Yield what differs for a pattern: matches of whole texts and of parts, by each engine, and what replaces them."""
    source = case["pattern"]
    try:
        pattern = Pattern.compile(source)
    except ValueError as error:
        refused = problem(source)
        if "refused" in real:
            # A pattern is accepted when it is saved if no engine here can match it, whatever comes behind that.
            if real["refused"] and refused is not None and refused != real["refused"] and not real["refused"].startswith(_LOOKING_BEHIND):
                yield "message", real["refused"], refused
        elif refused is not None or str(error).startswith(_NOT_COMPILED):
            yield "refused here", None, str(error)
        return
    if "refused" in real:
        yield "refused by Java", real["refused"], None
        return
    linear = LinearPattern.compile(source)
    any_case = _whole(source, ignore_case=True)
    whole = _whole(source, ignore_case=False)
    for text, answer in zip(case["subjects"], real["answers"], strict=True):
        if answer is None:
            continue
        yield from _differs("whole", text, answer["whole"], _groups(pattern, pattern.program.fullmatch(text)))
        yield from _differs("whole, linear" if whole[0] else "whole, backtracking", text, answer["whole"] is not None, whole[1](text))
        yield from _differs("any case", text, answer["any case"], any_case[1](text))
        searched = None if linear is None else linear.text(text)
        if searched is not None:
            yield from _differs("whole of linear", text, answer["whole"], _groups(pattern, searched.fullmatch()))
        if max(text, default="") > "\uffff" and any(part[0] == "" for part in answer["parts"]):
            # Java's empty matches divide a surrogate pair.
            continue
        yield from _differs("parts", text, answer["parts"], _parts(pattern, text, pattern.program.search))
        yield from _differs("replaced", text, answer["replaced"], _replaced(pattern, text, case["replacement"]))
        if searched is not None:
            yield from _differs("parts of linear", text, answer["parts"], _parts(pattern, text, partial(_searched, searched)))


def _parts(pattern: Pattern, text: str, search: Callable[[str, int], Match | None]) -> list[Any]:
    return [_groups(pattern, part) for part in islice(each_match(text, search), _MOST_MATCHES)]


def _searched(searched: LinearText, _text: str, at: int) -> Match | None:
    return searched.search(at)


def _whole(source: str, *, ignore_case: bool) -> tuple[bool, Callable[[str], bool | None]]:
    """Return whether RE2 matches the names, and how. None is for a pattern that no engine matches."""
    try:
        translation = translate(source, ignore_case=ignore_case)
    except (Malformed, Unsupported):
        return False, lambda _: None
    if not translation.linear:
        program = re.compile(translation.text)
        return False, lambda text: program.fullmatch(text) is not None
    options = re2.Options()
    options.log_errors = False
    try:
        linear = re2.compile(translation.text, options)
    except re2.error:
        return False, lambda _: None
    return True, lambda text: linear.fullmatch(text) is not None


def _differs(what: str, text: str, real: Any, own: Any) -> Iterator[Difference]:
    if real != own and (own is not None or isinstance(real, list)):
        yield f"{what} {text!r}", real, own


def _groups(pattern: Pattern, found: Any) -> list[Any] | None:
    return None if found is None else [found[0], *(found[f"g{number}"] for number in range(1, pattern.program.groups + 1))]


def _replaced(pattern: Pattern, text: str, replacement: str) -> str:
    try:
        return pattern.replace_all(text, replacement)
    except ReplacementError:
        return "!"


def dates_differences(case: dict[str, Any], real: dict[str, Any]) -> Iterator[Difference]:
    """Yield what differs for a pattern of dates."""
    try:
        compiled = DateFormat.compile(case["pattern"])
    except PatternError as error:
        if real.get("refused") != str(error):
            yield "refused", real.get("refused"), str(error)
        return
    if "refused" in real:
        yield "refused", real["refused"], None
        return
    own = DateFormat(compiled.pattern, compiled.tokens, case["century"])
    for time, text in zip(case["times"], real["written"], strict=True):
        if (found := own.format(time)) != text:
            yield f"written {time}", text, found
    for text, time in zip(case["texts"], real["read"], strict=True):
        if (read := own.parse(text)) != time:
            yield f"read {text!r}", time, read


def numbers_differences(case: dict[str, Any], real: list[list[Any]]) -> Iterator[Difference]:
    """Yield what differs for texts that may be numbers."""
    names = (
        "byte", "short", "int", "long", "decimal", "double", "float", "double narrowed", "decimal narrowed", "double written",
        "float written", "hash", "trim", "split",
    )  # fmt: skip
    for text, answers in zip(case["texts"], real, strict=True):
        for name, answer, own in zip(names, answers, map(_or(text), _NUMBERS), strict=True):
            if answer == own or (name == "decimal" and answer == ""):
                continue
            if (
                name.startswith("decimal")
                and answer == "!"
                and (exponent := _EXPONENT.search(text))
                and int(exponent[1]) > _LARGEST_EXPONENT
            ):
                # Java 17 refuses such exponents, and later versions read them.
                continue
            if name.endswith("written") and same_number(answer, own, single=name == "float written"):
                continue
            yield f"{name} {text!r}", answer, own


def _or(text: str) -> Callable[[Callable[[str], Any]], Any]:
    def read(reader: Callable[[str], Any]) -> Any:
        try:
            return reader(text)
        except NumberError:
            return "!"

    return read


_BITS: Final = (8, 16, 32, 64)
_NUMBERS: Final[tuple[Callable[[str], Any], ...]] = (
    *((lambda text, bits=bits: str(parse_integer(text, bits))) for bits in _BITS),
    lambda text: str(parse_decimal(text)),
    lambda text: str(struct.unpack(">q", struct.pack(">d", parse_double(text)))[0]),
    lambda text: str(struct.unpack(">i", struct.pack(">f", parse_float(text)))[0]),
    lambda text: " ".join(str(narrow_to_integer(parse_double(text), bits)) for bits in _BITS),
    lambda text: " ".join(str(wrap_decimal(parse_decimal(text), bits)) for bits in _BITS),
    lambda text: java_double(parse_double(text)).decode().strip('"'),
    lambda text: java_float(parse_float(text)).decode().strip('"'),
    lambda text: str(wrap(java_hash(text), 32)),
    trim,
    lambda text: java_split(text, ","),
)


def properties_differences(case: dict[str, Any], real: dict[str, Any]) -> Iterator[Difference]:
    """Yield what differs for a text of properties."""
    try:
        own: dict[str, Any] = {"read": dict(parse_properties(case["text"]))}
    except ValueError:
        own = {}
    if own != real:
        yield "read", real, own


def order_differences(case: dict[str, Any], real: list[str]) -> Iterator[Difference]:
    """Yield where the order of a map differs."""
    if (own := java_order(case["keys"])) != real:
        yield "order", real, own


AREAS: Final[dict[str, tuple[Callable[[Random], dict[str, Any]], Callable[[Any, Any], Iterator[Difference]]]]] = {
    "regex": (regex_case, regex_differences),
    "dates": (dates_case, dates_differences),
    "numbers": (numbers_case, numbers_differences),
    "properties": (properties_case, properties_differences),
    "order": (order_case, order_differences),
}
