"""How much a script may do for one record, so that no script holds up the worker or fills its memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from connector.transforms.scripting.groovy.values import JavaMap, MapEntry
from connector.transforms.scripting.problem import EvaluationError

MOST_STEPS: Final = 100_000
"""Calls of closures, turns of loops, items that methods and operators look at, and every so many characters of texts."""
MOST_MADE: Final = 50_000_000
"""The characters of all texts that a script makes for one record, whether it keeps them or not. An item of a list or map counts as ten."""
LONGEST_TEXT: Final = 1_000_000
LONGEST_LIST: Final = 100_000
MOST_BITS: Final = 4_096
"""The size of a BigInteger, and of the digits of a BigDecimal."""
MOST_MATCHING: Final = 500_000_000
"""The steps that a regular expression may take on a text, in the worst case."""

_CHARACTERS: Final = 10_000
"""Characters of a text that are looked at in one step."""
_HELD_CHARACTERS: Final = 1_000
"""The same for texts in lists and maps, which may hold the same one many times."""
_ITEM: Final = 10


class Budget:
    """Counts the steps of one evaluation, and what it makes."""

    __slots__ = ("left", "room")

    def __init__(self) -> None:
        self.left = MOST_STEPS
        self.room = MOST_MADE

    def take(self, steps: int = 1) -> None:
        """Use up steps. Raises EvaluationError."""
        self.left -= steps
        if self.left < 0:
            raise EvaluationError(f"The script takes more than {MOST_STEPS} steps for one record")

    def look(self, value: Any) -> None:
        """Use up what it takes to go through a text, or through all members of a list or map at any depth. Raises EvaluationError."""
        if isinstance(value, str):
            if len(value) >= _CHARACTERS:
                self.take(len(value) // _CHARACTERS)
            return
        waiting = [value]
        while waiting:
            each = waiting.pop()
            if isinstance(each, str):
                self.take(len(each) // _HELD_CHARACTERS)
            elif isinstance(each, list):
                self.take(len(each))
                waiting += [member for member in each if isinstance(member, _HELD)]
            elif isinstance(each, (JavaMap, dict)):
                self.take(len(each))
                waiting += [member for entry in each.items() for member in entry if isinstance(member, _HELD)]
            elif isinstance(each, MapEntry):
                waiting += (each.key, each.value)

    def search(self, items: list[Any], wanted: Any) -> None:
        """Use up what it takes to compare a value with each item. Raises EvaluationError."""
        if isinstance(wanted, str):
            self.take(len(items) * (1 + len(wanted) // _HELD_CHARACTERS))
        elif isinstance(wanted, (list, JavaMap)):
            self.look(items)
            self.take(len(items) * (1 + len(wanted)))
        else:
            self.take(len(items))

    def made(self, value: Any) -> Any:
        """Return a new value, and count it if it is a text, list or map. Raises EvaluationError."""
        if isinstance(value, str):
            self.room -= len(value)
        elif isinstance(value, (list, JavaMap, dict)):
            self.room -= len(value) * _ITEM
        else:
            return value
        if self.room < 0:
            raise EvaluationError(f"The script makes texts and lists of more than {MOST_MADE} characters for one record")
        return value

    def joined(self, parts: Iterable[str]) -> str:
        """Return the parts as one text, and count it. Refuses a text that is too long before it is made. Raises EvaluationError."""
        kept, length = [], 0
        for part in parts:
            length += len(part)
            text_of_length(length)
            kept.append(part)
        made: str = self.made("".join(kept))
        return made

    def held(self, value: Any) -> Any:
        """Return a member of the record. Lists and maps are copies, and count as made. Raises EvaluationError."""
        return self.made(value) if isinstance(value, (list, JavaMap)) else value


_HELD: Final = (str, list, JavaMap, MapEntry, dict)
"""Members that take steps of their own."""


def text_of_length(length: int) -> None:
    """Raises EvaluationError for a text that is too long."""
    if length > LONGEST_TEXT:
        raise EvaluationError(f"The script makes a text of more than {LONGEST_TEXT} characters")


def list_of_length(length: int) -> None:
    """Raises EvaluationError for a list that is too long."""
    if length > LONGEST_LIST:
        raise EvaluationError(f"The script makes a list of more than {LONGEST_LIST} items")
