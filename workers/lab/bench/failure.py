"""The error of a run without figures."""

from __future__ import annotations


class BenchError(Exception):
    """A failure that ends the run. The message says what failed and what to do."""
