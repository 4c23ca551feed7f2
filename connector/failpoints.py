"""Named points at which a test kills the process, to prove that a crash there loses nothing.

The environment variable ``UNDERSTUDY_FAILPOINT`` arms one point: ``after-send:kill`` kills the process with SIGKILL the first time it
gets there, ``after-send:kill:3`` the third time. Each process counts for itself. Without the variable :func:`reached` compares one name
with None and returns, once for each batch or burst and never for each event.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

__all__ = ["POINTS", "VARIABLE", "arm_from", "armed", "reached"]

VARIABLE: Final = "UNDERSTUDY_FAILPOINT"

IN_TRANSACTION: Final = "in-transaction"
AFTER_SEND: Final = "after-send"
AFTER_ACKNOWLEDGE: Final = "after-acknowledge"
BEFORE_COMMIT: Final = "before-commit"
AFTER_COMMIT: Final = "after-commit"
AFTER_STORE: Final = "after-store"
AFTER_CONFIRM: Final = "after-confirm"
SNAPSHOT_PART: Final = "snapshot-part"
BETWEEN_WATERMARKS: Final = "between-watermarks"

POINTS: Final[Mapping[str, str]] = {
    IN_TRANSACTION: "the first part of a transaction was given to the producer; the end of the transaction was not read",
    AFTER_SEND: "a batch was given to the producer; Kafka has not acknowledged it",
    AFTER_ACKNOWLEDGE: "Kafka acknowledged the records before a position; its offset is not stored",
    BEFORE_COMMIT: "exactly once: a Kafka transaction holds records and offset; its commit was not asked for",
    AFTER_COMMIT: "exactly once: a Kafka transaction is committed; the connector has not taken note of it",
    AFTER_STORE: "the offset is stored; the slot is not confirmed yet",
    AFTER_CONFIRM: "the slot is confirmed",
    SNAPSHOT_PART: "some rows of a table that a snapshot reads were given to the producer, and others were not",
    BETWEEN_WATERMARKS: "a chunk of an incremental snapshot was read; its second watermark is not written",
}
"""What has happened at each point, and what has not."""


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


_point: str | None = None
_left = 0
_action: Callable[[], None] = _kill


def reached(point: str) -> None:
    """Do here what a test wants; nothing unless it armed this point."""
    if point == _point:
        _count()


def _count() -> None:
    global _left  # noqa: PLW0603 (the module is the one switch of its process)
    _left -= 1
    if _left == 0:
        _action()


def _arm(point: str | None, action: Callable[[], None], nth: int) -> None:
    global _point, _left, _action
    _point, _left, _action = point, nth, action


def arm_from(setting: str) -> None:
    """Arm what the environment variable says; nothing when it is empty. Raises ValueError for a point or an action that is unknown."""
    if not setting:
        _arm(None, _kill, 0)
        return
    point, _, rest = setting.partition(":")
    action, _, nth = rest.partition(":")
    if point not in POINTS or action != "kill" or (nth and not (nth.isascii() and nth.isdecimal() and int(nth))):
        raise ValueError(f"{VARIABLE} must be POINT:kill or POINT:kill:COUNT, with a point of {', '.join(POINTS)}")
    _arm(point, _kill, int(nth or "1"))


@contextmanager
def armed(point: str, action: Callable[[], None], nth: int = 1) -> Iterator[None]:
    """Run ``action`` the ``nth`` time that this process reaches ``point``, for tests within one process."""
    _arm(point, action, nth)
    try:
        yield
    finally:
        _arm(None, _kill, 0)


arm_from(os.environ.get(VARIABLE, ""))
