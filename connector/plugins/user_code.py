"""The rule for calls of classes that users wrote: whatever they raise ends no more than the task that called them.

``SystemExit``, ``KeyboardInterrupt`` and the like, raised by such a class, would end the event loop and with it the worker. So every such
call catches BaseException and gives it to :func:`let_operator_through` first. In code that waits, where an exception may also be the
cancellation of the task, that is :func:`connector.runner.user_code.end_if_cancelled`.
"""

from __future__ import annotations

import signal
import threading


def let_operator_through(error: BaseException) -> None:
    """Raise ``error`` again if it is the operator's Ctrl-C; otherwise return.

    Where an event loop or a worker handles SIGINT by itself, Python raises no KeyboardInterrupt for it: there it is the class's own.
    """
    if (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        raise error


def described(error: BaseException) -> str:
    """The exception's type and text, for classes that must put no secret into it."""
    try:
        text = str(error)
    except BaseException as worse:  # noqa: BLE001 (a user's class may raise anything)
        let_operator_through(worse)
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
