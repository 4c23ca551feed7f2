"""The tree of a script. Every node knows its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from connector.transforms.scripting.problem import Place


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a script."""

    place: Place


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A literal."""

    value: Any


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A GString: texts and expressions in turn."""

    parts: tuple[str | Node, ...]


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A variable, or a class."""

    name: str


@dataclass(frozen=True, slots=True)
class Property(Node):
    """``of.name``, ``of?.name`` where ``safe``, ``of*.name`` where ``spread``."""

    of: Node
    name: str
    safe: bool = False
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``of[index]``, ``of?[index]`` where ``safe``."""

    of: Node
    index: Node
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``of.name(arguments)``; a closure is the last argument. ``of`` is None for ``name(arguments)``."""

    of: Node | None
    name: str
    arguments: tuple[Node, ...]
    safe: bool = False
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``!`` ``-`` ``+`` ``~`` before an operand."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An operator between two operands."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logical(Node):
    """``&&`` or ``||`` between two or more operands."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``condition ? then : otherwise``."""

    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Elvis(Node):
    """``value ?: otherwise``."""

    value: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class OfType(Node):
    """``value instanceof type``, ``value !instanceof type``, ``value as type`` or ``(type) value``."""

    operator: str
    value: Node
    type: str


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``low..high``; without the high end where ``exclusive``."""

    low: Node
    high: Node
    exclusive: bool


@dataclass(frozen=True, slots=True)
class ListLiteral(Node):
    """``[a, b]``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapLiteral(Node):
    """``[key: value]``."""

    entries: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Closure(Node):
    """``{ parameters -> body }``; ``parameters`` is None where the closure has only ``it``."""

    parameters: tuple[str, ...] | None
    body: Block


@dataclass(frozen=True, slots=True)
class Block(Node):
    """Statements; the last one is the value."""

    statements: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """``def name = value``, with a type in place of ``def`` perhaps."""

    name: str
    type: str | None
    value: Node | None


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """``name = value``."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class If(Node):
    """``if (condition) then else otherwise``."""

    condition: Node
    then: Node
    otherwise: Node | None


@dataclass(frozen=True, slots=True)
class For(Node):
    """``for (name in values) body``."""

    name: str
    values: Node
    body: Node


@dataclass(frozen=True, slots=True)
class Switch(Node):
    """``switch (value) { case label: ... default: ... }``. The label None is the default; a case without statements goes on to the next."""

    value: Node
    cases: tuple[tuple[Node | None, Block], ...]


@dataclass(frozen=True, slots=True)
class Leave(Node):
    """``break`` or ``continue``."""

    word: str


@dataclass(frozen=True, slots=True)
class Return(Node):
    """``return value``."""

    value: Node | None
