"""What can be wrong with a script: before it runs, and for one record."""

from __future__ import annotations

from typing import NamedTuple

from connector.record.connect_record import DataError


class Place(NamedTuple):
    """A place in a script. Both count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class ScriptError(ValueError):
    """A script that cannot be run, for example because of its syntax or a method that is not known."""

    def __init__(self, what: str, place: Place | None = None) -> None:
        super().__init__(what if place is None else f"{what} ({place})")


class EvaluationError(DataError):
    """A script that failed for one record. The text names properties and types, never values."""
