"""Why an embedded server cannot be had."""

from __future__ import annotations


class EmbeddedError(Exception):
    """A server that cannot be found, fetched, started or stopped. The message says what failed and how to mend it."""
