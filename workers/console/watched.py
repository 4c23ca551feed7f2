"""What the console knows of the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from connect_api.herder import Herder
from connector.delivery.progress import Progress
from workers.group.ownership import Member


class WatchedWorker(Herder, Protocol):
    """A herder with the reads that REST does not have. They never raise Elsewhere."""

    def running_progress(self, name: str) -> Progress | None:
        """The progress of the task that this worker runs for the connector; None if it runs none."""

    def members(self) -> Sequence[Member]:
        """The workers of the group, this one too; empty before the first assignment."""

    def version_for(self, config: Mapping[str, str]) -> str:
        """The emulated version of the connector for ``config``: the worker's if the configuration chooses none, or none that exists."""

    async def resolved_config(self, name: str) -> Mapping[str, str]:
        """The configuration with its references resolved, for a connection. Never show or log it.

        Raises CdcError for a reference that cannot be resolved, HerderError(404) for an unknown connector.
        """
