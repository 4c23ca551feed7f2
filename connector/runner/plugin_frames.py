"""Frames of an output plugin other than pgoutput, brought into pgoutput's form with what the catalog must add."""

from __future__ import annotations

import logging

from connector.io import pg_catalog
from connector.io.pg_connection import Connection
from connector.output_plugin import Adapter

_log = logging.getLogger(__name__)


class PluginFrames:
    """Joins an adapter to the catalog, which it reads through ``query``."""

    def __init__(self, adapter: Adapter, query: Connection) -> None:
        self._adapter = adapter
        self._query = query

    async def translate(self, frames: list[bytes]) -> list[bytes]:
        """A burst in pgoutput's form; empty when nothing of it makes an event.

        Raises CdcError(PROTOCOL) for messages that cannot be read, and what reading the catalog raises.
        """
        adapter = self._adapter
        out: list[bytes] = []
        used = adapter.translate(frames, out)
        while adapter.wanted is not None:
            adapter.learn(await pg_catalog.read_table(self._query, *adapter.wanted))
            frames = frames[used:]
            used = adapter.translate(frames, out)
        for notice in adapter.notices:
            _log.warning("%s", notice)
        adapter.notices.clear()
        return out
