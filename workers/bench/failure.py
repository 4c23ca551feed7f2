"""Why a run gives no figures."""

from __future__ import annotations


class BenchError(Exception):
    """A run that cannot go on. The message says what failed and what to do about it."""
