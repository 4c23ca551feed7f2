"""Rows that a batch may not need at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from pyspark.sql import DataFrame


class Later:
    """The rows of a DataFrame that is made when it is first needed."""

    def __init__(self, make: Callable[[], DataFrame]) -> None:
        self._make: Final = make
        self._made: DataFrame | None = None
        self._lock: Final = threading.Lock()

    @property
    def rows(self) -> DataFrame:
        """The DataFrame."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made
