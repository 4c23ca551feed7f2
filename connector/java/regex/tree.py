"""A regular expression as a tree, and properties of it that need no matching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from connector.java.regex import code_points
from connector.java.regex.code_points import CodePoints


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of ``points``. ``dot`` says that it is an unescaped dot of the pattern."""

    points: CodePoints
    dot: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts in sequence; the empty text if there are none."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Any of the options, tried in their order."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``part`` from ``low`` to ``high`` times (None: any number). ``mode`` is empty, ``?`` (reluctant) or ``+`` (possessive)."""

    part: Node
    low: int
    high: int | None
    mode: Literal["", "?", "+"]


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group with its number."""

    part: Node
    number: int


@dataclass(frozen=True, slots=True)
class Atomic:
    """``(?>part)``: once matched, no other match of the part is tried."""

    part: Node


@dataclass(frozen=True, slots=True)
class Look:
    """A lookahead or a lookbehind."""

    part: Node
    ahead: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text that group ``number`` matched last; ``ignore_case`` is ``i`` for ASCII letters, ``u`` for all letters."""

    number: int
    ignore_case: Literal["", "i", "u"]


@dataclass(frozen=True, slots=True)
class Edge:
    r"""A position between characters.

    ``begin`` and ``end`` are those of the name. ``last`` is ``$`` and ``\Z``: the end, or the position before a line end there. ``line
    begin`` and ``line end`` are ``^`` and ``$`` with the flag m. ``word`` and ``no word`` are ``\b`` and ``\B``. ``unix``: only ``\n`` ends
    a line.
    """

    kind: Literal["begin", "end", "last", "line begin", "line end", "word", "no word"]
    unix: bool = False


Node = Chars | Sequence | Either | Repeat | Group | Atomic | Look | BackReference | Edge

_DOT = code_points.of(".")


def dots(node: Node) -> int:
    r"""Return the least number of separating dots in the texts that ``node`` matches.

    ``\.`` counts, and so does an unescaped dot for a single character, because most users write it so.
    """
    match node:
        case Chars(points, dot):
            return int(dot or points == _DOT)
        case Sequence(parts):
            return sum(map(dots, parts))
        case Either(options):
            return min(map(dots, options))
        case Repeat(Chars(dot=True)):
            return 0
        case Repeat(part, low):
            return min(low, 1) * dots(part)
        case Group(part) | Atomic(part):
            return dots(part)
        case Look() | BackReference() | Edge():
            return 0


def edges(node: Node) -> set[str]:
    """Return the kinds of edges in a tree."""
    match node:
        case Edge(kind):
            return {kind}
        case Sequence(parts) | Either(parts):
            return set().union(*map(edges, parts))
        case Repeat(part) | Group(part) | Atomic(part) | Look(part):
            return edges(part)
    return set()


def positions(node: Node) -> int:
    """Return how many characters the tree has, with each repetition written out: an automaton has at most 2 to this power of states."""
    match node:
        case Chars():
            return 1
        case Sequence(parts) | Either(parts):
            return sum(map(positions, parts))
        case Repeat(part, low, high):
            return positions(part) * (max(low, 1) if high is None else high)
        case Group(part) | Atomic(part) | Look(part):
            return positions(part)
        case Edge() | BackReference():
            return 0


def repeats_nothing(node: Node) -> bool:
    """Whether a repetition repeats what may match the empty text. Engines differ in the groups of such a match."""
    match node:
        case Repeat(part, _, high):
            return (high != 1 and width(part)[0] == 0) or repeats_nothing(part)
        case Sequence(parts) | Either(parts):
            return any(map(repeats_nothing, parts))
        case Group(part) | Atomic(part) | Look(part):
            return repeats_nothing(part)
    return False


def width(node: Node) -> tuple[int, int | None]:
    """Return the fewest and the most characters that ``node`` matches; None if there is no bound, as for a back reference."""
    match node:
        case Chars():
            return 1, 1
        case Sequence(parts):
            pairs = [width(part) for part in parts]
            most = [high for _, high in pairs if high is not None]
            return sum(low for low, _ in pairs), sum(most) if len(most) == len(pairs) else None
        case Either(options):
            pairs = [width(option) for option in options]
            most = [high for _, high in pairs if high is not None]
            return min(low for low, _ in pairs), max(most) if len(most) == len(pairs) else None
        case Repeat(part, low, high):
            least, longest = width(part)
            return least * low, None if high is None or longest is None else longest * high
        case Group(part) | Atomic(part):
            return width(part)
        case Look() | Edge():
            return 0, 0
        case BackReference():
            return 0, None
