"""What this worker knows of its group: its own connectors, the others', the leader; and when it may act on that.

Rules:

1. Between two generations nothing new is begun: what the worker runs goes on, what comes meanwhile waits for the next assignment.
2. An assignment counts once the config topic is read as far as its leader had read it.
3. After the process's start an assignment may be older than the worker (a static member gets back what it had, KIP-345). Connectors
   that came since are then not placed by what was read of a compacted topic: a new generation is asked for.
4. A connector that is to move is ended first; then a new generation is asked for, which gives it to another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from connect_api.herder import Elsewhere
from connector.errors import CdcError
from workers.assignment import Assignment, Claim, Owners, assign
from workers.membership import Membership
from workers.stores.config_store import ConfigStore

LOGGER: Final = logging.getLogger(__name__)

_READ_RETRY_SECONDS: Final = 1.0


class Ownership:
    """One worker's :class:`workers.membership.Member`. ``reassigned`` is called whenever owners may be others than before."""

    def __init__(self, worker_id: str, url: str, config: ConfigStore, membership: Membership, reassigned: Callable[[], None]) -> None:
        self._worker_id = worker_id
        self._url = url
        self._config = config
        self._membership = membership
        self._reassigned = reassigned
        self._owners: Owners | None = None
        self._read_at_start = -1
        self._joining = True
        self._attempts = 0
        self._change = asyncio.Event()
        self._settling: asyncio.Task[None] | None = None
        self.generation = 0
        self.problem = ""
        """Why the worker is not in its group, as far as that is known."""
        self.held: set[str] = set()
        """Connectors that this worker has brought to what is wanted of them, and that nobody else may touch until it gives them up."""

    async def start(self) -> None:
        """Join the group; the config topic has been read."""
        self._read_at_start = self._config.offset
        await self._membership.start(self)

    async def stop(self) -> None:
        """Leave it; nothing is held any more."""
        if self._settling is not None:
            self._settling.cancel()
        await self._membership.stop()

    # Questions

    def mine(self, name: str) -> bool:
        """Whether this worker runs the connector. While a generation is on its way only what it holds already is its own."""
        return self._owner(name) == self._worker_id and (not self._joining or name in self.held)

    def leaving(self, name: str) -> bool:
        """Whether another worker waits for this one to give the connector up."""
        return self._owners is not None and self._owners.leaving(name, self._worker_id)

    @property
    def joined(self) -> bool:
        """Whether the group has told, at least once, what is this worker's."""
        return self._owners is not None

    @property
    def leads(self) -> bool:
        """Whether this worker writes configurations."""
        return self._owners is not None and self._owners.assignment.leader == self._worker_id

    def must_lead(self) -> None:
        """Raises Elsewhere unless this worker writes configurations."""
        if self._owners is None:
            raise Elsewhere(None)
        if not self.leads:
            raise Elsewhere(self._owners.assignment.workers[self._owners.assignment.leader])

    def must_own(self, name: str) -> None:
        """Raises Elsewhere unless the connector is this worker's."""
        owner = self._owner(name)
        if self._owners is None or owner is None or (owner == self._worker_id and not self.mine(name)):
            raise Elsewhere(None)
        if owner != self._worker_id:
            raise Elsewhere(self._owners.assignment.workers[owner])

    async def next_change(self, seconds: float) -> None:
        """Return at the next assignment, or after so many seconds."""
        self._change.clear()
        try:
            await asyncio.wait_for(self._change.wait(), seconds)
        except TimeoutError:
            return

    # What the store and the reconciler tell

    def follow(self) -> None:
        """Connectors may have come or gone."""
        if self._owners is not None:
            for arrival in self._config.arrivals:
                self._owners.change(arrival.offset, arrival.name, exists=arrival.exists)

    def given_up(self) -> None:
        """A connector was given up: when it was the last to move, another generation is due."""
        if self._owners is not None and self._waits_for_me(self._owners.assignment):
            return
        self._membership.rejoin()

    # What the group tells

    def claim(self) -> Claim:
        """What is held goes on."""
        self._attempts += 1
        return Claim(self._worker_id, self._url, self.generation, tuple(sorted(self.held)), self._attempts)

    def assign(self, claims: Iterable[Claim]) -> Assignment:
        """Over all connectors that the config topic names now."""
        return assign(self._worker_id, claims, self._config.names(), self._config.offset)

    def joining(self) -> None:
        """Rule 1."""
        self._joining = True

    def kept_out(self, problem: str) -> None:
        """Told by :meth:`workers.herder.WorkerHerder.health` until the first assignment."""
        self.problem = problem

    def alone(self) -> None:
        """Act as the only worker until the group has its first generation."""
        if self._owners is None and self._settling is None:
            LOGGER.info("no other worker in the group")
            self.assigned(self.assign([self.claim()]), 0)

    def assigned(self, assignment: Assignment, generation: int) -> None:
        """Rule 2: the rest happens when the topic is read."""
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.create_task(self._settle(assignment, generation), name=f"generation {generation}")

    async def _settle(self, assignment: Assignment, generation: int) -> None:
        while self._config.offset < assignment.offset:
            try:
                await self._config.catch_up()
                break
            except CdcError as problem:
                LOGGER.warning("cannot read what the group's leader knows, trying again", extra={"fields": {"error": str(problem)}})
                await asyncio.sleep(_READ_RETRY_SECONDS)
        self._config.forget_arrivals(assignment.offset)
        older = any(a.exists and a.name not in assignment.owners for a in self._config.arrivals if a.offset <= self._read_at_start)
        self._owners = Owners(assignment)
        self.generation = generation
        self._joining = older
        if older:
            self._membership.rejoin()
        else:
            self.follow()
        mine = sum(worker == self._worker_id for worker in assignment.owners.values())
        LOGGER.info(
            "the group's work is shared",
            extra={
                "fields": {
                    "generation": generation,
                    "workers": len(assignment.workers),
                    "leader": assignment.leader,
                    "connectors_here": mine,
                    "connectors": len(assignment.owners) + len(assignment.moving),
                    "moving": len(assignment.moving),
                }
            },
        )
        self._change.set()
        self._reassigned()
        if self._worker_id in assignment.moving.values() and not self._waits_for_me(assignment):
            # A former process of this worker was told to end them, and its end did.
            self._membership.rejoin()

    def _waits_for_me(self, assignment: Assignment) -> bool:
        return any(worker == self._worker_id and name in self.held for name, worker in assignment.moving.items())

    def _owner(self, name: str) -> str | None:
        return None if self._owners is None else self._owners.owner(name)
