"""Sets of code points: Java's character classes as sorted ranges, with their operations."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Final

import re2

CodePoints = tuple[tuple[int, int], ...]
"""Inclusive ranges, sorted, not adjacent. No set contains surrogates, because no name contains one."""

LAST: Final = 0x10FFFF
_SURROGATES: Final = (0xD800, 0xDFFF)


class UnknownProperty(ValueError):  # noqa: N818 -- the reader makes Java's message of it
    """Java has no property of this name."""


class UnsupportedProperty(ValueError):  # noqa: N818 -- the reader makes a message of it
    """Java has the property, but its members are not available here."""


def union(*sets: CodePoints) -> CodePoints:
    """Return the points that are in any of ``sets``."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(pair for one in sets for pair in one):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def complement(points: CodePoints) -> CodePoints:
    """Return all code points that are not in ``points``."""
    found = []
    begin = 0
    for low, high in union(points, (_SURROGATES,)):
        if begin < low:
            found.append((begin, low - 1))
        begin = high + 1
    if begin <= LAST:
        found.append((begin, LAST))
    return tuple(found)


def intersection(one: CodePoints, other: CodePoints) -> CodePoints:
    """Return the points that are in both sets."""
    return complement(union(complement(one), complement(other)))


def span(low: int, high: int) -> CodePoints:
    """Return the range from ``low`` to ``high`` without the surrogates."""
    if high < _SURROGATES[0] or low > _SURROGATES[1]:
        return ((low, high),)
    below = ((low, _SURROGATES[0] - 1),) if low < _SURROGATES[0] else ()
    above = ((_SURROGATES[1] + 1, high),) if high > _SURROGATES[1] else ()
    return below + above


def of(characters: Iterable[str]) -> CodePoints:
    """Return the set of these characters."""
    return union(*(span(ord(char), ord(char)) for char in characters))


def without_case(points: CodePoints, *, unicode: bool) -> CodePoints:
    """Return ``points`` and the letters that differ from them only in case: ASCII letters, or with ``unicode`` all letters."""
    found = [points]
    for upper, shift in ((0x41, 0x20), (0x61, -0x20)):
        for low, high in points:
            if low <= upper + 25 and high >= upper:
                found.append(((max(low, upper) + shift, min(high, upper + 25) + shift),))
    if unicode:
        letters, fold_of, by_fold = _folding()
        for low, high in points:
            for letter in letters[bisect_left(letters, low) : bisect_right(letters, high)]:
                found += [span(point, point) for point in by_fold[fold_of[letter]]]
    return union(*found)


@cache
def _folding() -> tuple[list[int], dict[int, int], dict[int, list[int]]]:
    """Return the sorted letters that have another case, Java's folded letter of each, and all letters by folded letter."""
    by_fold: dict[int, list[int]] = {}
    # Only letters, numerals, circled letters and one combining mark have cases.
    cased = union(*map(_listed, ("L", "Nl", "So", "Mn")))
    for point in (point for low, high in cased for point in range(low, high + 1)):
        char = chr(point)
        if char.lower() != char or char.upper() != char:
            upper = char.upper() if len(char.upper()) == 1 else char.title() if len(char.title()) == 1 else char
            by_fold.setdefault(ord(upper.lower()[0]), []).append(point)
    by_fold = {fold: points for fold, points in by_fold.items() if len(points) > 1}
    fold_of = {point: fold for fold, points in by_fold.items() for point in points}
    return sorted(fold_of), fold_of, by_fold


ALL: Final = complement(())
DIGITS: Final = of("0123456789")
LOWER: Final = span(0x61, 0x7A)
UPPER: Final = span(0x41, 0x5A)
LETTERS: Final = union(LOWER, UPPER)
ALNUM: Final = union(LETTERS, DIGITS)
WORD: Final = union(ALNUM, of("_"))
SPACE: Final = of(" \t\n\x0b\f\r")
VERTICAL: Final = of("\n\x0b\f\r\x85\u2028\u2029")
HORIZONTAL: Final = union(of(" \t\xa0\u1680\u180e\u202f\u205f\u3000"), span(0x2000, 0x200A))
LINE_ENDS: Final = of("\n\r\x85\u2028\u2029")
_PUNCTUATION: Final = intersection(complement(ALNUM), span(0x21, 0x7E))
_GRAPH: Final = span(0x21, 0x7E)

_NAMED: Final[dict[str, CodePoints]] = {
    "ASCII": span(0, 0x7F),
    "Alnum": ALNUM,
    "Alpha": LETTERS,
    "Blank": of(" \t"),
    "Cntrl": union(span(0, 0x1F), span(0x7F, 0x7F)),
    "Digit": DIGITS,
    "Graph": _GRAPH,
    "Print": span(0x20, 0x7E),
    "Punct": _PUNCTUATION,
    "Space": SPACE,
    "XDigit": union(DIGITS, span(0x41, 0x46), span(0x61, 0x66)),
    "L1": span(0, 0xFF),
    "all": ALL,
}
_CATEGORIES: Final = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cs Cn LC LD".split()  # noqa: SIM905
)
_BINARY: Final = {"LETTER": "L", "TITLECASE": "Lt", "CONTROL": "Cc", "PUNCTUATION": "P", "DIGIT": "Nd"}
_UNLISTED: Final = frozenset(
    "ALPHABETIC IDEOGRAPHIC LOWERCASE UPPERCASE WHITE_SPACE WHITESPACE HEX_DIGIT HEXDIGIT ASSIGNED NONCHARACTER_CODE_POINT"  # noqa: SIM905
    " NONCHARACTERCODEPOINT JOIN_CONTROL JOINCONTROL ALNUM BLANK GRAPH PRINT WORD".split()
)
"""Properties that Java knows as ``\\p{Is...}`` and RE2 does not."""


def property_set(name: str, *, ignore_case: bool) -> CodePoints:
    r"""Return the members of ``\p{name}``. Raises UnknownProperty and UnsupportedProperty."""
    kind, equals, value = name.partition("=")
    if equals:
        match kind.lower():
            case "sc" | "script":
                return _script(value)
            case "gc" | "general_category":
                return _category(value, ignore_case=ignore_case)
            case "blk" | "block":
                raise UnsupportedProperty(name)
        raise UnknownProperty(name)
    if name.startswith("In") or (name.startswith("java") and len(name) > 4):
        raise UnsupportedProperty(name)
    if not name.startswith("Is"):
        return _category(name, ignore_case=ignore_case)
    short = name[2:]
    if short.upper() in _UNLISTED:
        raise UnsupportedProperty(name)
    if short.upper() in _BINARY:
        return _category(_BINARY[short.upper()], ignore_case=ignore_case)
    try:
        return _category(short, ignore_case=ignore_case)
    except UnknownProperty:
        return _script(short)


def _category(name: str, *, ignore_case: bool) -> CodePoints:
    if name in ("Lower", "Upper"):
        return LETTERS if ignore_case else LOWER if name == "Lower" else UPPER
    if name in _NAMED:
        return _NAMED[name]
    if name not in _CATEGORIES:
        raise UnknownProperty(name)
    match "LC" if ignore_case and name in ("Lu", "Ll", "Lt") else name:
        case "LC":
            return union(_listed("Lu"), _listed("Ll"), _listed("Lt"))
        case "LD":
            return union(_listed("L"), _listed("Nd"))
        case "Cs":
            return ()
        case "Cn":
            raise UnsupportedProperty(name)
        case "C":
            # RE2's class C lacks the unassigned points.
            return complement(union(*(_listed(one) for one in "LMNPSZ")))
        case known:
            return _listed(known)


def _script(name: str) -> CodePoints:
    # Java ignores the case of names and also accepts the four-letter codes of ISO 15924, which RE2 does not have.
    known = "_".join(part.capitalize() for part in name.split("_"))
    if not known.replace("_", "").isalpha() or not known.isascii() or known.upper() in ("L", "M", "N", "P", "S", "Z", "C"):
        raise UnknownProperty(name)
    try:
        return _listed(known)
    except UnknownProperty:
        if len(known) == 4 or known == "Unknown":
            raise UnsupportedProperty(name) from None
        raise


@cache
def _listed(name: str) -> CodePoints:
    """Return the members of a category or a script in RE2's tables."""
    options = re2.Options()
    options.log_errors = False
    try:
        runs = re2.compile(rf"\p{{{name}}}+", options)
    except re2.error:
        raise UnknownProperty(name) from None
    found = []
    for match in runs.finditer(_every()):
        members = match.group().decode()
        found.append(span(ord(members[0]), ord(members[-1])))
    return union(*found)


@cache
def _every() -> bytes:
    """Return all code points as text. The result is cached, because making it takes 0.1 s and a user may name every property."""
    return "".join(map(chr, chain(*(range(low, high + 1) for low, high in ALL)))).encode()
