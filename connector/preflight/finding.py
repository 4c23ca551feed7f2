"""One finding of the preflight, and the text of lists of names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAD: Final = "Error while validating connector config: "
"""The text with which Debezium begins its own findings about the database."""

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about property ``key``. ``text`` says what was found, where, and how to fix it.

    A warning does not refuse the configuration. A finding that is not a warning means that the task would certainly fail; the worker
    property ``preflight`` decides whether it refuses the configuration. With ``reference`` Debezium refuses the configuration too, so the
    worker always refuses it.
    """

    key: str
    text: str
    warning: bool = True
    reference: bool = False

    def as_warning(self) -> Finding:
        """Return the same finding as a warning."""
        return Finding(self.key, self.text.removeprefix(LEAD))


def counted(names: Sequence[str], one: str, many: str) -> str:
    """Return the number of names and the first few of them: ``2 tables (a, b)``."""
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return f"{len(names)} {one if len(names) == 1 else many} ({shown})"
