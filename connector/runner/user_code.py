"""The rule of :mod:`connector.user_code` for code that waits."""

from __future__ import annotations

import asyncio

from connector.user_code import let_operator_through


def end_if_cancelled(error: BaseException) -> None:
    """Raise CancelledError if the current task is being cancelled, whatever the class made of it; otherwise return.

    A CancelledError that nobody asked for is the class's own, and no reason to end.
    """
    let_operator_through(error)
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from None
