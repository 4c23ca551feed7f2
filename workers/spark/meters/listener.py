"""Spark's own figures about each trigger of a query, which a batch does not see: reading offsets, planning, writing the log."""

from __future__ import annotations

from pyspark.sql.streaming import StreamingQueryListener
from pyspark.sql.streaming.listener import QueryIdleEvent, QueryProgressEvent, QueryStartedEvent, QueryTerminatedEvent

from workers.spark.meters.figures import Figures


class TriggerListener(StreamingQueryListener):  # type: ignore[misc]  # the base class has no types
    """Counts the triggers of the query with this ``name``. Other queries of the session are ignored."""

    def __init__(self, figures: Figures, name: str) -> None:
        self._figures = figures
        self._name = name

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """No-op."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Keep the seconds of the trigger's phases."""
        progress = event.progress
        if progress.name == self._name:
            self._figures.triggered({phase: ms / 1000 for phase, ms in progress.durationMs.items()})

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """No-op."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """No-op."""
