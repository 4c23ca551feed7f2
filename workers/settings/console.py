"""The settings of the web console (``console.*``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from connector.errors import CdcError, ErrorKind
from workers.settings.converters import boolean

_HIDDEN: Final = "passw|pwd|secret|token|api_?key|credential|ssn|iban|card_?n"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """``enabled``: whether ``/ui`` exists. ``read_only``: whether the console refuses every action.

    ``events``: whether it shows the rows of events; None: only if REST has a login. ``hidden`` finds the names of columns whose values
    are not shown; an empty value of ``console.hidden.columns`` hides none.
    """

    enabled: bool = True
    read_only: bool = False
    events: bool | None = None
    hidden: re.Pattern[str] = re.compile(_HIDDEN, re.IGNORECASE)

    @staticmethod
    def from_properties(properties: Mapping[str, str]) -> ConsoleSettings:
        """Read ``properties``. Raises CdcError(CONFIG_INVALID) for a value that cannot be read."""
        return ConsoleSettings(
            enabled=boolean(properties, "console.enabled", True),
            read_only=boolean(properties, "console.read.only", False),
            events=boolean(properties, "console.events", False) if "console.events" in properties else None,
            hidden=_pattern(properties.get("console.hidden.columns", _HIDDEN)),
        )


def _pattern(text: str) -> re.Pattern[str]:
    try:
        # An empty expression matches every name.
        return re.compile(text if text.strip() else r"(?!)", re.IGNORECASE)
    except re.error as problem:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"The value of console.hidden.columns is not a regular expression ({problem})",
            "Correct it. It is searched in the names of columns, in any case.",
        ) from None
