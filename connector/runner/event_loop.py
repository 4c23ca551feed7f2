"""The event loop of a worker and of its reader processes."""

from __future__ import annotations

from typing import Any


def loop_factory() -> Any:
    """Return the factory of uvloop's event loop if uvloop is installed; None, for asyncio's own loop, otherwise."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415 (where it is installed)
    except ImportError:
        return None
    return new_event_loop
