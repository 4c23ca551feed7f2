"""Calls that Kafka Connect does not have. They have their own paths and add nothing to Connect's bodies."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Response

from connect_api import models
from connect_api.documentation import answers
from connect_api.herder import Herder
from connect_api.schemas import BOOLEAN, TEXT, WHOLE, array, closed, one_of, or_null

_MAYBE: Final = {"type": ["number", "null"]}
_TABLE: Final = closed(
    "TableProgress",
    {
        "table": TEXT,
        "rows": WHOLE,
        "estimate": WHOLE,
        "seconds": {"type": "number"},
        "done": BOOLEAN,
        "rows_per_second": _MAYBE,
        "seconds_left": _MAYBE,
    },
)
_INCREMENTAL: Final = closed(
    "IncrementalProgress",
    {"table": _TABLE, "chunks": WHOLE, "chunk_rows": WHOLE, "waiting": array(TEXT), "paused": BOOLEAN},
)
PROGRESS: Final = closed(
    "Progress",
    {
        "phase": one_of(("starting", "snapshot", "streaming", "idle", "stopped")),
        "tables": array(_TABLE),
        "snapshot_started_at": {"type": "number"},
        "snapshot_seconds": {"type": "number"},
        "events": WHOLE,
        "acknowledged_lsn": WHOLE,
        "received_lsn": WHOLE,
        "last_event_source_ms": WHOLE,
        "incremental": or_null(_INCREMENTAL),
        "rows": WHOLE,
        "tables_done": WHOLE,
        "snapshot_seconds_left": _MAYBE,
    },
)
"""The schema of :meth:`connect_api.herder.Herder.progress`."""
_EXAMPLE: Final = {
    "phase": "streaming",
    "tables": [],
    "snapshot_started_at": 0.0,
    "snapshot_seconds": 0.0,
    "events": 1280,
    "acknowledged_lsn": 22176496,
    "received_lsn": 22176496,
    "last_event_source_ms": 1795242511502,
    "incremental": None,
    "rows": 0,
    "tables_done": 0,
    "snapshot_seconds_left": 0,
}


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the route of a connector's progress."""

    @app.get("/connectors/{connector:segment}/progress", tags=["extensions"], responses=answers(PROGRESS, _EXAMPLE, 404))
    async def progress(connector: str) -> Response:
        """Show the progress of the connector's snapshot and stream."""
        return models.reply(herder.progress(connector))
