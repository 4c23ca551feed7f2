"""The tables of a database, as signals ask for them (:class:`connector.ports.SignalSource`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from .faults import Faults


@dataclass(slots=True)
class FakeSignalSource:
    """Steps: ``tables``, ``check_signal_table``."""

    listed: list[tuple[str, str]]
    faults: Faults = field(default_factory=Faults)
    checked: list[tuple[str, str, bool]] = field(default_factory=list)
    """The arguments of each successful check of the signal table."""

    async def tables(self) -> Sequence[tuple[str, str]]:
        """Return the given tables."""
        await asyncio.sleep(0)
        self.faults.at("tables")
        return self.listed

    async def check_signal_table(self, schema: str, table: str, *, deletes: bool) -> None:
        """Accept every signal table."""
        await asyncio.sleep(0)
        self.faults.at("check_signal_table")
        self.checked.append((schema, table, deletes))
