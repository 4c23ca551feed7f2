"""The page of a topic's latest events, which is loaded again every two seconds."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from connect_api.herder import HerderError
from connector.errors import CdcError
from workers.console.visit import Visit
from workers.console.watched import WatchedWorker
from workers.records.event_view import event_view

if TYPE_CHECKING:
    from workers.records.latest import StoredRecord

ReadLatest = Callable[[str, int], Awaitable["Sequence[StoredRecord]"]]
"""Reads the last records of a topic, at most so many. Raises CdcError."""

SHOWN: Final = 20
OFF: Final = (
    "This worker shows no rows in the console, because its REST interface has no login. "
    "Set console.events=true in the worker's properties to show them all the same."
)


class EventPages:
    """``read`` is None where rows are not shown. Values of columns whose name contains a match of ``hidden`` are hidden."""

    def __init__(self, worker: WatchedWorker, read: ReadLatest | None, hidden: re.Pattern[str]) -> None:
        self._worker = worker
        self._read = read
        self._hidden = hidden

    async def show(self, visit: Visit) -> Response:
        """The page. ``?topic=`` names one of the connector's topics; without it the first is shown."""
        topics = self._topics(visit)
        topic = visit.request.query_params.get("topic") or next(iter(topics), "")
        note = OFF if self._read is None else "" if topics else "No topic has been written to since the last reset."
        return visit.page("events.html", title=f"Events of {visit.connector}", name=visit.connector, topics=topics, topic=topic, note=note)

    async def latest(self, visit: Visit) -> Response:
        """The events, the newest first."""
        topic = visit.request.query_params.get("topic", "")
        # Only the connector's own topics: the worker's user may read more than the console's users may see.
        if self._read is None or topic not in self._topics(visit):
            raise HerderError(404, OFF if self._read is None else f"The connector {visit.connector} has not written to the topic {topic}.")
        try:
            records = await self._read(topic, SHOWN)
        except CdcError as problem:
            return visit.page("latest_events.html", events=[], problem=f"{problem.message}. {problem.remedy}")
        events = [
            (f"r-{record.partition}-{record.offset}", _place(record), event_view(record.key, record.value, self._hidden))
            for record in records
        ]
        return visit.page("latest_events.html", events=events, problem="")

    def _topics(self, visit: Visit) -> list[str]:
        self._worker.connector_info(visit.connector)
        try:
            return sorted(self._worker.active_topics(visit.connector))
        except HerderError:
            # Topic tracking is disabled.
            return []


def _place(record: StoredRecord) -> str:
    return f"{_time(record.timestamp)} · partition {record.partition}, offset {record.offset}"


def _time(timestamp: int) -> str:
    try:
        at = datetime.fromtimestamp(timestamp // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        # A producer may set any number.
        return f"timestamp {timestamp}"
    return f"{at:%Y-%m-%d %H:%M:%S}.{timestamp % 1000:03} UTC"
