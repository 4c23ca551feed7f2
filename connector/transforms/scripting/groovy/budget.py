"""How much a script may do for one record, so that no script holds up the worker or fills its memory."""

from __future__ import annotations

from typing import Final

from connector.transforms.scripting.problem import EvaluationError

MOST_STEPS: Final = 100_000
"""Calls of closures, turns of loops, and items that methods look at."""
LONGEST_TEXT: Final = 1_000_000
LONGEST_LIST: Final = 100_000
MOST_BITS: Final = 4_096
"""The size of a BigInteger, and of the digits of a BigDecimal."""
MOST_MATCHING: Final = 500_000_000
"""The steps that a regular expression may take on a text, in the worst case."""


class Budget:
    """Counts the steps of one evaluation."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_STEPS

    def take(self, steps: int = 1) -> None:
        """Use up steps. Raises EvaluationError."""
        self.left -= steps
        if self.left < 0:
            raise EvaluationError(f"The script takes more than {MOST_STEPS} steps for one record")


def text_of_length(length: int) -> None:
    """Raises EvaluationError for a text that is too long."""
    if length > LONGEST_TEXT:
        raise EvaluationError(f"The script makes a text of more than {LONGEST_TEXT} characters")


def list_of_length(length: int) -> None:
    """Raises EvaluationError for a list that is too long."""
    if length > LONGEST_LIST:
        raise EvaluationError(f"The script makes a list of more than {LONGEST_LIST} items")
