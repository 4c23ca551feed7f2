"""Closures of a script, as methods call them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from connector.transforms.scripting.groovy.comparison import truth
from connector.transforms.scripting.groovy.values import JavaMap, MapEntry, class_of
from connector.transforms.scripting.problem import EvaluationError


@dataclass(frozen=True, slots=True)
class Lambda:
    """A closure: how many parameters it has (1 with only ``it``), and what it does with as many arguments."""

    arity: int
    run: Callable[[tuple[Any, ...]], Any]

    def __call__(self, *arguments: Any) -> Any:
        """Call it. One list is spread over several parameters, as Groovy does."""
        if len(arguments) == 1 and self.arity > 1 and isinstance(arguments[0], list):
            arguments = tuple(arguments[0])
        if len(arguments) != self.arity and not (self.arity == 1 and not arguments):
            raise EvaluationError(f"A closure of {self.arity} parameters is called with {len(arguments)} arguments")
        return self.run(arguments or (None,))

    def of_entry(self, entry: MapEntry) -> Any:
        """Call it for an entry of a map: with the entry, or with key and value where it has two parameters."""
        return self.run((entry.key, entry.value) if self.arity == 2 else (entry,))


def closure(value: Any) -> Lambda:
    """Return an argument that has to be a closure. Raises EvaluationError."""
    if not isinstance(value, Lambda):
        raise EvaluationError(f"A closure is expected, not a {class_of(value)}")
    return value


def passes(test: Lambda, item: Any) -> bool:
    """Whether a closure says true of an item."""
    return truth(test.of_entry(item) if isinstance(item, MapEntry) else test(item))


def items_of(value: Any) -> list[Any]:
    """Return what a loop over a value goes through. Raises EvaluationError."""
    match value:
        case None:
            return []
        case list():
            return list(value)
        case JavaMap():
            return [MapEntry(key, each) for key, each in value.items()]
        case str():
            return list(value)
    return [value]
