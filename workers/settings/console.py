"""The settings of the web console (``console.*``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workers.settings.converters import boolean


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """``enabled``: whether ``/ui`` exists. ``read_only``: whether the console refuses every action."""

    enabled: bool = True
    read_only: bool = False

    @staticmethod
    def from_properties(properties: Mapping[str, str]) -> ConsoleSettings:
        """Read ``properties``. Raises CdcError(CONFIG_INVALID) for a value that is neither true nor false."""
        return ConsoleSettings(
            enabled=boolean(properties, "console.enabled", True),
            read_only=boolean(properties, "console.read.only", False),
        )
