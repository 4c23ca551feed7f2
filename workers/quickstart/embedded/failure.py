"""The error of embedded servers."""

from __future__ import annotations


class EmbeddedError(Exception):
    """A server could not be found, downloaded, started or stopped. The message says what failed and how to fix it."""
