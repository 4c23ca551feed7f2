"""The worker's view of its group: the owner of each connector, the leader, and when the worker may act on this.

Rules:

1. Between two generations the worker starts nothing: its connectors keep running, and new ones wait for the next assignment.
2. An assignment takes effect when the worker has read the config topic as far as the leader had. It takes effect at the leader when that
   has read as far as any member had; if the leader had read less when it decided, it requests a new generation. It takes effect at a new
   leader when that has read all of the topic: it must know what the former one wrote last.
3. The first assignment after the start may be older than the process (a static member gets its former assignment, KIP-345). The compacted
   topic then does not show the order of later connectors, so the worker requests a new generation for them.
4. The owner ends a connector that must move, then requests a new generation, which gives it to another worker.
5. From its decision on, the leader starts nothing until the decision takes effect, and for itself it decides by what it holds then: a
   worker that acted alone holds more than it claimed when it joined. Such a worker leads the next generation, because it joined first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from connect_api.herder import Elsewhere
from connector.errors import CdcError
from connector.log import EventLog
from workers.group.assignment import Assignment, Claim, Owners, assign
from workers.group.membership import Membership
from workers.stores.config_store import ConfigStore
from workers.telemetry.worker_meter import WorkerMeter

LOG: Final = EventLog(__name__)

_READ_RETRY_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Member:
    """A worker of the group, with the connectors that it owns."""

    worker_id: str
    url: str
    leads: bool
    connectors: Sequence[str]
    here: bool
    """Whether it is the worker that says so."""


class Ownership:
    """One worker's :class:`workers.group.membership.GroupMember`. ``reassigned`` is called whenever owners may have changed."""

    def __init__(
        self, worker_id: str, url: str, config: ConfigStore, membership: Membership, reassigned: Callable[[], None], meter: WorkerMeter
    ) -> None:
        self._worker_id = worker_id
        self._url = url
        self._config = config
        self._membership = membership
        self._reassigned = reassigned
        self._meter = meter
        self._owners: Owners | None = None
        self._followed = 0
        """How many of the store's arrivals ``_owners`` has."""
        self._read_at_start = -1
        self._joining = True
        self._decided = False
        self._attempts = 0
        self._claimed = -1
        """The highest offset that a member had read, when this worker last decided."""
        self._change = asyncio.Event()
        self._settling: asyncio.Task[None] | None = None
        self.generation = 0
        self.problem = ""
        """Why the worker is not in its group; empty if it is, or if the reason is unknown."""
        self.held: set[str] = set()
        """The connectors whose wanted state this worker has applied. No other worker may act on them until this one releases them."""

    async def start(self) -> None:
        """Join the group. The config topic must have been read."""
        self._read_at_start = self._config.offset
        await self._membership.start(self)

    async def stop(self) -> None:
        """Leave the group. ``held`` must be empty."""
        if self._settling is not None:
            self._settling.cancel()
        await self._membership.stop()

    # Queries

    def mine(self, name: str) -> bool:
        """Whether this worker owns the connector. Between two generations it owns only the connectors that it holds."""
        return self._owner(name) == self._worker_id and (not self._joining or name in self.held)

    def leaving(self, name: str) -> bool:
        """Whether another worker waits for this one to release the connector."""
        return self._owners is not None and self._owners.leaving(name, self._worker_id)

    @property
    def joined(self) -> bool:
        """Whether the worker has had an assignment."""
        return self._owners is not None

    @property
    def leads(self) -> bool:
        """Whether this worker writes configurations."""
        return self._owners is not None and self._owners.assignment.leader == self._worker_id

    def must_lead(self) -> None:
        """Raise Elsewhere unless this worker writes configurations."""
        if self._owners is None:
            raise Elsewhere(None)
        if not self.leads:
            raise Elsewhere(self._owners.assignment.workers[self._owners.assignment.leader])

    def must_own(self, name: str) -> None:
        """Raise Elsewhere unless this worker owns the connector."""
        owner = self._owner(name)
        if self._owners is None or owner is None or (owner == self._worker_id and not self.mine(name)):
            raise Elsewhere(None)
        if owner != self._worker_id:
            raise Elsewhere(self._owners.assignment.workers[owner])

    def members(self) -> Sequence[Member]:
        """The workers of the group in the order of their ids; empty before the first assignment."""
        if self._owners is None:
            return ()
        assignment, owned = self._owners.assignment, dict[str, list[str]]()
        for name in self._config.names():
            owned.setdefault(self._owner(name) or "", []).append(name)
        return [
            Member(worker, url, worker == assignment.leader, owned.get(worker, ()), worker == self._worker_id)
            for worker, url in sorted(assignment.workers.items())
        ]

    async def next_change(self, seconds: float) -> None:
        """Return at the next assignment, or after ``seconds``."""
        self._change.clear()
        try:
            await asyncio.wait_for(self._change.wait(), seconds)
        except TimeoutError:
            return

    # Events of the store and the reconciler

    def follow(self) -> None:
        """Place the connectors that were created or deleted."""
        if self._owners is not None:
            for arrival in self._config.arrivals[self._followed :]:
                self._owners.change(arrival.offset, arrival.name, exists=arrival.exists)
            self._followed = len(self._config.arrivals)

    def given_up(self) -> None:
        """A connector was released. After the last one that must move, request a new generation."""
        if self._owners is not None and self._waits_for_me(self._owners.assignment):
            return
        self._membership.rejoin()

    # Events of the group

    def claim(self) -> Claim:
        """Claim the held connectors."""
        self._attempts += 1
        return self._claim()

    def assign(self, claims: Iterable[Claim]) -> Assignment:
        """Assign all connectors in the config topic, by rule 5."""
        self._joining = self._decided = True
        others = [claim for claim in claims if claim.worker_id != self._worker_id]
        self._claimed = max((claim.offset for claim in others), default=-1)
        return assign(self._worker_id, [*others, self._claim()], self._config.names(), self._config.offset)

    def joining(self) -> None:
        """Rule 1 applies from here."""
        self._joining = True
        if self._settling is not None:
            # It would start connectors that the claim for the next generation does not name.
            self._settling.cancel()
        self._meter.joining()

    def kept_out(self, problem: str) -> None:
        """Keep the reason. :meth:`workers.herder.herder.WorkerHerder.health` shows it until the next assignment."""
        self.problem = problem

    def alone(self) -> None:
        """Act as the only worker until the group has its first generation."""
        # After a decision the group may have other members.
        if self._owners is None and self._settling is None and not self._decided:
            LOG.info("no other worker in the group")
            self.assigned(self.assign([self.claim()]), 0)

    def assigned(self, assignment: Assignment, generation: int) -> None:
        """Apply the assignment by rule 2, when the topic is read."""
        self.problem = ""
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.create_task(self._settle(assignment, generation), name=f"generation {generation}")

    async def _settle(self, assignment: Assignment, generation: int) -> None:
        # A worker without others has read the topic at its start.
        leader = assignment.leader == self._worker_id
        begins_to_lead = leader and not self.leads and generation > 0
        offset = max(assignment.offset, self._claimed if leader else -1)
        while begins_to_lead or self._config.offset < offset:
            try:
                await self._config.catch_up()
                break
            except CdcError as problem:
                LOG.warning("config topic not read as far as the group has, trying again", error=str(problem))
                await asyncio.sleep(_READ_RETRY_SECONDS)
        self._config.forget_arrivals(assignment.offset)
        self._followed = 0
        older = any(a.exists and a.name not in assignment.owners for a in self._config.arrivals if a.offset <= self._read_at_start)
        # A leader that had read less than a member decides again: the assignments before may have made that member forget the arrivals
        # since. If compaction has removed all that the leader lacks, nothing was read, and the next decision would be the same.
        again = leader and assignment.offset < min(self._claimed, self._config.offset)
        self._owners = Owners(assignment)
        self.generation = generation
        self._joining = older or again
        if self._joining:
            self._membership.rejoin()
        else:
            self.follow()
        mine = sum(worker == self._worker_id for worker in assignment.owners.values())
        LOG.info(
            "group assigned",
            generation=generation,
            workers=len(assignment.workers),
            leader=assignment.leader,
            connectors_here=mine,
            connectors=len(assignment.owners) + len(assignment.moving),
            moving=len(assignment.moving),
        )
        self._meter.joined()
        self._change.set()
        self._reassigned()
        if self._worker_id in assignment.moving.values() and not self._waits_for_me(assignment):
            # These connectors were to be ended by a former process of this worker, whose own end did that.
            self._membership.rejoin()

    def _waits_for_me(self, assignment: Assignment) -> bool:
        return any(worker == self._worker_id and name in self.held for name, worker in assignment.moving.items())

    def _claim(self) -> Claim:
        return Claim(self._worker_id, self._url, self.generation, tuple(sorted(self.held)), self._attempts, self._config.offset)

    def _owner(self, name: str) -> str | None:
        return None if self._owners is None else self._owners.owner(name)
