"""Changes of a stopped connector's offsets (KIP-875)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Final

from connect_api.herder import HerderError, Offset
from connector.log import EventLog
from connector.ports import JsonObject
from workers.group.ownership import Ownership
from workers.herder.reconciler import Reconciler
from workers.herder.store_errors import store_errors
from workers.herder.task_plan import TaskPlanner
from workers.stores.config_store import ConfigStore
from workers.stores.offset_store import AllOffsets

LOG: Final = EventLog(__name__)

_CHANGED: Final = (
    "The Connect framework-managed offsets for this connector have been {0} successfully. However, if this connector manages offsets "
    "externally, they will need to be manually {0} in the system that the connector uses."
)
"""Connect's message for a connector that does not check changes of its offsets itself, as Debezium's does not."""


class OffsetChanges:
    """Changes the offsets of the connectors that this worker owns, while nothing else writes them.

    Both methods raise HerderError(404) for an unknown connector, HerderError(400) for one that is not stopped, HerderError(500) when Kafka
    cannot be read or written, and Elsewhere when another worker owns the connector. With exactly-once delivery the connector's own topic,
    if it has one, is changed first: a call that fails can be repeated.
    """

    def __init__(
        self, config: ConfigStore, offsets: AllOffsets, ownership: Ownership, reconciler: Reconciler, planner: TaskPlanner
    ) -> None:
        self._config, self._offsets, self._ownership, self._reconciler = config, offsets, ownership, reconciler
        self._planner = planner

    async def alter(self, name: str, changes: Sequence[Offset]) -> str:
        """Write all changes together. Return Connect's message."""
        wanted = [(change.partition, change.offset) for change in changes]
        async with self._stopped(name):
            await self._change_own(name, wanted)
            await self._offsets.alter(name, wanted)
        LOG.info("offsets altered", connector=name, partitions=len(changes))
        return _CHANGED.format("altered")

    async def reset(self, name: str) -> str:
        """Remove the stored offsets. Return Connect's message."""
        async with self._stopped(name):
            await self._change_own(name, [(partition, None) for partition, _ in self._offsets.of(name)])
            await self._offsets.reset(name)
        LOG.info("offsets reset", connector=name)
        return _CHANGED.format("reset")

    async def _change_own(self, name: str, changes: Sequence[tuple[JsonObject | None, JsonObject | None]]) -> None:
        offsets = await self._planner.transaction_offsets(name, self._config.config(name) or {})
        if offsets is not None:
            await offsets.change_own(changes)

    @contextlib.asynccontextmanager
    async def _stopped(self, name: str) -> AsyncIterator[None]:
        """Until the block ends nothing else writes the offsets or starts the connector."""
        with store_errors():
            # Another worker may have written the stop just now.
            await self._config.catch_up()
        async with self._reconciler.lock(name):
            if self._config.config(name) is None:
                raise HerderError(404, f"Connector {name} not found")
            self._ownership.must_own(name)
            if self._config.target(name) != "STOPPED" or self._config.tasks(name):
                raise HerderError(
                    400,
                    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
                    f"connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
                )
            # The stop is stored, but the reconciler may not have applied it yet.
            await self._reconciler.halt(name)
            with store_errors():
                # The worker that ran the connector before may have stored offsets that this one has not read.
                await self._offsets.catch_up()
                yield
