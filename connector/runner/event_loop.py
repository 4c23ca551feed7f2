"""The event loop of processes that read for a worker."""

from __future__ import annotations

from typing import Any


def loop_factory() -> Any:
    """What makes uvloop's loop where it is installed; None, for asyncio's own, elsewhere."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415 (where it is installed)
    except ImportError:
        return None
    return new_event_loop
