r"""A tree as the text of a regular expression for RE2, or for Python's :mod:`re`.

The text matches a whole name. Only what both engines understand alike is written: classes are written out, and ``(?i)``, ``\w``,
``\b`` and ``$``, which mean something else in each, never occur.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from connector.java_regex import code_points
from connector.java_regex.code_points import CodePoints
from connector.java_regex.findings import Unsupported
from connector.java_regex.tree import Atomic, BackReference, Chars, Edge, Either, Group, Look, Node, Repeat, Sequence, width

_ENDS: Final = "\n\r\x85\u2028\u2029"
_NOTHING: Final = "(?!)"

ANY: Final = f"[^{_ENDS}]"
"""What a dot matches."""


class NotLinear(Exception):  # noqa: N818 -- says which engine is needed
    """RE2 has nothing that means the same."""


def linear_text(node: Node) -> str:
    """The text for RE2. Raises NotLinear for what only a backtracking engine can match."""
    return _linear(node, last=True)


def backtracking_text(node: Node) -> str:
    """The text for :mod:`re` (Python 3.11 or later). Raises Unsupported for what it cannot match either."""
    return _backtracking(node, frozenset(_referred(node)))


def _linear(node: Node, *, last: bool) -> str:
    """``last`` where nothing of the pattern follows ``node``: there ``$`` is the end of the name."""
    match node:
        case Chars(points):
            return _class(points)
        case Sequence(parts):
            return "".join(_linear(part, last=last and at == len(parts)) for at, part in enumerate(parts, 1))
        case Either(options):
            return f"(?:{'|'.join(_linear(option, last=last) for option in options)})"
        case Repeat(part, low, high, mode) if mode != "+":
            return _grouped(_linear(part, last=False), part) + _times(low, high)
        case Group(part):
            return f"(?:{_linear(part, last=last)})"
        case Edge("begin"):
            return "\\A"
        case Edge("end"):
            return "\\z"
        case Edge("last") if last:
            return "\\z"
    raise NotLinear


def _backtracking(node: Node, referred: frozenset[int]) -> str:
    def text(part: Node) -> str:
        return _backtracking(part, referred)

    match node:
        case Chars(points):
            return _class(points) if points else _NOTHING
        case Sequence(parts):
            return "".join(text(part) for part in parts)
        case Either(options):
            return f"(?:{'|'.join(text(option) for option in options)})"
        case Repeat(part, low, high, mode):
            return _grouped(text(part), part) + _times(low, high) + mode
        case Group(part, number):
            return f"(?P<g{number}>{text(part)})" if number in referred else f"(?:{text(part)})"
        case Atomic(part):
            return f"(?>{text(part)})"
        case Look(part, ahead, negated):
            return f"(?{'!' if negated else '='}{text(part)})" if ahead else _behind(part, referred, negated=negated)
        case BackReference(number, ignore_case):
            flags = {"": "", "i": "ai", "u": "i"}[ignore_case]
            return f"(?{flags}:(?P=g{number}))"
        case Edge(kind, unix):
            return _edge(kind, unix=unix)


def _behind(part: Node, referred: frozenset[int], *, negated: bool) -> str:
    """A lookbehind: each of its alternatives must have one width, as :mod:`re` demands."""
    while isinstance(part, Group) and part.number not in referred:
        part = part.part
    options = part.options if isinstance(part, Either) else (part,)
    sign = "!" if negated else "="
    texts = []
    for option in options:
        least, most = width(option)
        if least != most:
            raise Unsupported("A look-behind of variable length is not supported; write its lengths as alternatives, (?<=a|bc)")
        texts.append(f"(?<{sign}{_backtracking(option, referred)})")
    return "".join(texts) if negated else f"(?:{'|'.join(texts)})"


def _edge(kind: str, *, unix: bool) -> str:
    word = _class(_word())
    match kind:
        case "begin":
            return "\\A"
        case "end":
            return "\\Z"
        case "last":
            return "(?=\n?\\Z)" if unix else f"(?=\r\n\\Z|(?<!\r)\n\\Z|[{_ENDS[1:]}]\\Z|\\Z)"
        case "line begin":
            return "(?!\\Z)(?:\\A|(?<=\n))" if unix else f"(?!\\Z)(?:\\A|(?<=[\n{_ENDS[2:]}])|(?<=\r)(?!\n))"
        case "line end":
            return "(?=\n|\\Z)" if unix else f"(?:(?=[{_ENDS[1:]}]|\\Z)|(?<!\r)(?=\n))"
        case "word":
            return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
    return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"


@lru_cache(maxsize=1)
def _word() -> CodePoints:
    r"""What ``\b`` looks for: letters and digits of all scripts, and the marks upon them."""
    named = (code_points.property_set(name, ignore_case=False) for name in ("L", "Nd", "Mn"))
    return code_points.union(code_points.of("_"), *named)


def _referred(node: Node) -> set[int]:
    match node:
        case BackReference(number):
            return {number}
        case Sequence(parts) | Either(parts):
            return set().union(*map(_referred, parts))
        case Repeat(part) | Group(part) | Atomic(part) | Look(part):
            return _referred(part)
    return set()


def _grouped(text: str, part: Node) -> str:
    return text if isinstance(part, Chars | Group) and text != _NOTHING else f"(?:{text})"


def _times(low: int, high: int | None) -> str:
    match low, high:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


@lru_cache(maxsize=256)
def _class(points: CodePoints) -> str:
    if len(points) == 1 and points[0][0] == points[0][1]:
        return _escaped(points[0][0])
    others = code_points.complement(points)
    if others and (len(others) < len(points) or not points):
        return f"[^{_ranges(others)}]"
    return f"[{_ranges(points)}]"


def _ranges(points: CodePoints) -> str:
    return "".join(_escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}" for low, high in points)


def _escaped(point: int) -> str:
    char = chr(point)
    return "\\" + char if char.isascii() and char.isprintable() and not char.isalnum() else char
