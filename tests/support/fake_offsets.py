"""A store of offsets in memory (:class:`connector.ports.OffsetStore`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from connector.ports import JsonObject

from .faults import Faults


@dataclass(slots=True)
class FakeOffsets:
    """Steps: ``load``, ``store`` (nothing is stored), ``stored`` (it is, and the answer is lost)."""

    faults: Faults = field(default_factory=Faults)
    kept: JsonObject | None = None
    storing: Callable[[JsonObject], None] = lambda _: None
    """Called with each offset before it is stored."""
    stuck: bool = False
    """What is to be stored gets no answer."""

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """What was stored last."""
        await asyncio.sleep(0)
        self.faults.at("load")
        return self.kept

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        """Keep it."""
        await asyncio.sleep(0)
        if self.stuck:
            await asyncio.get_running_loop().create_future()
        self.faults.at("store")
        if offset is not None:
            self.storing(offset)
        self.kept = offset
        await asyncio.sleep(0)
        self.faults.at("stored")
