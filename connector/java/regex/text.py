r"""Writers of a tree as a regular expression for RE2, or for Python's :mod:`re`.

The expression matches a whole name. It contains only syntax that has the same meaning in both engines: classes are expanded, and ``(?i)``,
``\w``, ``\b`` and ``$``, which differ between them, never occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from connector.java.regex import code_points
from connector.java.regex.code_points import CodePoints
from connector.java.regex.findings import Unsupported
from connector.java.regex.tree import Atomic, BackReference, Chars, Edge, Either, Group, Look, Node, Repeat, Sequence, width

_ENDS: Final = "\n\r\x85\u2028\u2029"
_NOTHING: Final = "(?!)"

ANY: Final = f"[^{_ENDS}]"
"""Matches what Java's dot matches."""


class NotLinear(Exception):  # noqa: N818 -- says which engine is needed
    """RE2 has no equivalent of the tree."""


def linear_text(node: Node) -> str:
    """Return the expression for RE2. Raises NotLinear if only a backtracking engine can match the tree."""
    return _linear(node, last=True, captured=False, edges=_WHOLE)


def linear_capturing_text(node: Node) -> str:
    """Return the expression for RE2 with every group captured, as ``g1``, ``g2`` and so on. Raises NotLinear."""
    return _linear(node, last=True, captured=True, edges=_WHOLE)


def linear_line_text(node: Node) -> str:
    """The same for a text that is one line, which is not empty. With a word boundary, its characters are ASCII. Raises NotLinear."""
    return _linear(node, last=False, captured=True, edges=_LINE)


def backtracking_text(node: Node) -> str:
    """Return the expression for :mod:`re` (Python 3.11 or later). Raises Unsupported if :mod:`re` cannot match the tree."""
    return _backtracking(node, frozenset(_referred(node)))


def capturing_text(node: Node) -> str:
    """The same with every group of the pattern captured, as ``g1``, ``g2`` and so on."""
    return _backtracking(node, frozenset(_groups(node)))


_WHOLE: Final = {"begin": "\\A", "end": "\\z"}
_LINE: Final = {
    **_WHOLE, "last": "\\z", "line begin": "\\A", "line end": "\\z", "word": "\\b", "no word": "\\B",
}  # fmt: skip


def _linear(node: Node, *, last: bool, captured: bool, edges: Mapping[str, str]) -> str:
    """Write a node for RE2. ``last`` says that nothing follows ``node`` in the pattern, so that ``$`` is the end of the name."""

    def text(part: Node, *, last: bool) -> str:
        return _linear(part, last=last, captured=captured, edges=edges)

    match node:
        case Chars(points):
            return _class(points)
        case Sequence(parts):
            return "".join(text(part, last=last and at == len(parts)) for at, part in enumerate(parts, 1))
        case Either(options):
            return f"(?:{'|'.join(text(option, last=last) for option in options)})"
        case Repeat(part, low, high, mode) if mode != "+":
            return _grouped(text(part, last=False), part) + _times(low, high) + (mode if captured else "")
        case Group(part, number):
            return f"(?{f'P<g{number}>' if captured else ':'}{text(part, last=last)})"
        case Edge(kind) if kind in edges:
            return edges[kind]
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
            # As in Java, no turn of a possessive repetition is tried again, even if too few turns come after it.
            once = f"(?>{text(part)})" if mode == "+" and low > 1 else _grouped(text(part), part)
            repeated = once + _times(low, high)
            # Before 3.11.5 Python's own possessive quantifiers match too much (issue 106052 of CPython).
            return f"(?>{repeated})" if mode == "+" else repeated + mode
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
    """Write a lookbehind. Each of its alternatives must have a fixed width, because :mod:`re` requires it."""
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
    r"""Return the word characters of ``\b``: letters and digits of all scripts, and combining marks."""
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


def _groups(node: Node) -> set[int]:
    match node:
        case Group(part, number):
            return {number} | _groups(part)
        case Sequence(parts) | Either(parts):
            return set().union(*map(_groups, parts))
        case Repeat(part) | Atomic(part) | Look(part):
            return _groups(part)
    return set()
