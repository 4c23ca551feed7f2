"""The variables of a script, each with its place in the list that an evaluation works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from connector.transforms.scripting.bindings import NAMES

Slots = list[Any]
"""One evaluation: its budget, the variables that come from the record, and those of the script."""
Run = Callable[[Slots], Any]
"""A part of a script, ready to run."""


class Scope:
    """The names that are known at a place of the script."""

    def __init__(self) -> None:
        self.size = 1
        self._names: dict[str, int] = {}
        self.types: dict[int, str] = {}
        self.closures: set[int] = set()
        for name in NAMES:
            self.declare(name)

    def declare(self, name: str) -> int:
        """Give a new variable its slot."""
        slot = self._names[name] = self.size
        self.size += 1
        return slot

    def find(self, name: str) -> int | None:
        """The slot of a variable, or None."""
        return self._names.get(name)

    def declared_here(self, name: str) -> bool:
        """Whether the script declares this name itself; it can then not be declared again."""
        return name in self._names and self._names[name] > len(NAMES)

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A block: what it declares is forgotten after it."""
        names = dict(self._names)
        try:
            yield
        finally:
            self._names = names
