"""The start of replication with the options that the server's output plugin knows."""

from __future__ import annotations

from typing import Final

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError
from connector.io.postgres.connection import Connection
from connector.io.postgres.replication_connection import Replication
from connector.runner.slot.busy import start_when_free
from connector.wire.output_plugin import start_options

_UNKNOWN_OPTION: Final = "22023"
"""SQLSTATE of an output plugin's error for an unknown option."""


async def start_replication(query: Connection, replication: Replication, config: ConnectorConfig, plugin: str, start: int) -> None:
    """Start replication at the LSN ``start`` with the first set of options that the output plugin accepts.

    Raises CdcError when the slot cannot be used or no set of options is accepted.
    """
    choices = start_options(plugin, query.info.server_version, config.publication_name, config.slot_stream_options)
    for last, options in enumerate(choices, start=1):
        try:
            await start_when_free(query, replication, config, start, options)
        except CdcError as error:
            if last == len(choices) or _UNKNOWN_OPTION not in error.detail:
                raise
        else:
            return
