"""Rows that a batch may not need at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from pyspark.sql import DataFrame, SparkSession


class Later:
    """The rows of a DataFrame that is made when it is first needed. ``session`` is its session, if that is known before."""

    def __init__(self, make: Callable[[], DataFrame], session: SparkSession | None = None) -> None:
        self._make: Final = make
        self._session: Final = session
        self._made: DataFrame | None = None
        self._lock: Final = threading.Lock()

    @classmethod
    def of(cls, rows: DataFrame) -> Later:
        """The rows of a DataFrame that is there already."""
        return cls(lambda: rows)

    @property
    def rows(self) -> DataFrame:
        """The DataFrame."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made

    @property
    def made(self) -> bool:
        """Whether the DataFrame has been made."""
        return self._made is not None

    @property
    def session(self) -> SparkSession:
        """The session of the DataFrame."""
        return self._session or self.rows.sparkSession
