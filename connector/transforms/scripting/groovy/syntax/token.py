"""The tokens of a script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from connector.transforms.scripting.problem import Place

Kind = Literal["name", "number", "string", "gstring", "operator", "newline", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """One token. ``text`` is an operator or a name; ``value`` is what a literal stands for, and for a GString its parts: text or tokens."""

    kind: Kind
    text: str
    place: Place
    value: Any = None
    spaced: bool = False
    """Whether blanks come before it."""

    @property
    def shown(self) -> str:
        """The token in an error message."""
        match self.kind:
            case "newline":
                return "the end of the line"
            case "end":
                return "the end of the script"
            case "name" | "operator":
                return f"'{self.text}'"
        return f"a {self.kind}"
