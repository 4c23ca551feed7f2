"""What ends a task, and why."""

from __future__ import annotations

import asyncio


class TaskStop(asyncio.Event):
    """Set when the task is to end."""

    def __init__(self) -> None:
        super().__init__()
        self.paused = False
        """Whether the task ends because its connector is paused, so that a later task continues where this one ends."""

    def pause(self) -> None:
        """End the task because its connector is paused."""
        self.paused = True
        self.set()
