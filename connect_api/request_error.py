"""The failure of a malformed request. Settings and commands raise it too, so it does not import FastAPI, which takes 0.15 CPU-s."""

from __future__ import annotations


class RequestError(Exception):
    """The request is malformed: it is answered with ``status``. The message names the field and says how to correct it."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
