"""Converts frames of an output plugin other than pgoutput to pgoutput's form, with table descriptions from the catalog."""

from __future__ import annotations

from typing import Final

from connector.io.postgres import catalog as pg_catalog
from connector.io.postgres.connection import Connection
from connector.log import EventLog
from connector.wire.output_plugin import Adapter

LOG: Final = EventLog(__name__)


class PluginFrames:
    """Converts frames with an adapter, and reads the table descriptions that it needs through ``query``."""

    def __init__(self, adapter: Adapter, query: Connection) -> None:
        self._adapter = adapter
        self._query = query

    async def translate(self, frames: list[bytes]) -> list[bytes]:
        """Return a burst in pgoutput's form; empty if it contains no event.

        Raises CdcError(PROTOCOL) for messages that cannot be parsed, and the CdcError of a failed catalog query.
        """
        adapter = self._adapter
        out: list[bytes] = []
        used = adapter.translate(frames, out)
        while adapter.wanted is not None:
            adapter.learn(await pg_catalog.read_table(self._query, *adapter.wanted))
            frames = frames[used:]
            used = adapter.translate(frames, out)
        for notice in adapter.notices:
            LOG.warning(notice.event, **notice.fields)
        adapter.notices.clear()
        return out
