"""The rule of :mod:`connector.plugins.user_code` for asynchronous code."""

from __future__ import annotations

import asyncio

from connector.plugins.user_code import let_operator_through


def end_if_cancelled(error: BaseException) -> None:
    """Raise CancelledError if the current task is being cancelled, even if the class raised something else; otherwise return.

    A CancelledError without a cancellation of the task is the class's own error, and does not end the task.
    """
    let_operator_through(error)
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from None
