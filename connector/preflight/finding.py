"""One thing that was found, and how lists of names are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAD: Final = "Error while validating connector config: "
"""How the reference begins what it finds in the database."""

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """``text`` says what was found, where, and how to fix it; it belongs to property ``key``. A warning refuses nothing.

    What is no warning makes the task fail for certain. Whether it refuses the configuration too, the worker property ``preflight``
    says; where ``reference`` is set the reference refuses it, and so does this worker in any case.
    """

    key: str
    text: str
    warning: bool = True
    reference: bool = False

    def as_warning(self) -> Finding:
        """The same, refusing nothing."""
        return Finding(self.key, self.text.removeprefix(LEAD))


def counted(names: Sequence[str], one: str, many: str) -> str:
    """``2 tables (a, b)``: how many, and the first few by name."""
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return f"{len(names)} {one if len(names) == 1 else many} ({shown})"
