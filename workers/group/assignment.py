"""The assignment of connectors to workers. The group's leader decides it when workers join or leave; every worker extends it in between.

Rules:

1. A connector stays on its worker as long as no worker has two connectors more than another: the fewest possible connectors move.
2. A connector that moves between living workers ends first. It is in :attr:`Assignment.moving` in one generation and has its new owner in
   the next, which its former owner requests after the end (the two phases of KIP-415). Two workers never run it at the same time.
3. If two workers claim a connector, the one with the newer assignment keeps it; the other was out of the group.
4. A connector created after the assignment belongs to the worker with the fewest connectors. All workers read the same topic in the same
   order and therefore agree (:class:`Owners`). No other connector moves, and no new generation is needed.
5. A connector that is deleted and created again within a generation keeps its worker, which may not have ended the former task yet.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Claim:
    """What a worker sends when it joins: its id, its URL, the connectors it runs, and the generation that assigned them (0: none)."""

    worker_id: str
    url: str
    generation: int = 0
    owned: tuple[str, ...] = ()
    attempt: int = 0
    """Counts the worker's joins. It makes each join differ from the one before, because the broker ignores a join without changes."""
    offset: int = -1
    """That of the last record of the config topic that the worker had read; -1 in the claim of an earlier version, which does not say."""

    def encode(self) -> bytes:
        """The claim as a member's user data."""
        # Earlier versions read the first part and ignore what follows it.
        return _pack([_FORMAT, self.worker_id, self.url, self.generation, self.owned, self.attempt]) + _pack([_FORMAT, self.offset])

    @staticmethod
    def decode(data: bytes) -> Claim:
        """Raises ValueError for what no worker of this format wrote."""
        worker_id, url, generation, owned, attempt = _unpack(data, 5)
        second = _after_first(data)
        (offset,) = _unpack(second, 1) if second else (-1,)
        return Claim(str(worker_id), str(url), int(generation), tuple(map(str, owned)), int(attempt), int(offset))


@dataclass(frozen=True, slots=True)
class Assignment:
    """The decision of one generation. ``offset`` is that of the last record of the config topic that the leader had read."""

    leader: str
    """The id of the worker that writes configurations."""
    workers: Mapping[str, str]
    """Id → URL."""
    offset: int
    owners: Mapping[str, str] = field(default_factory=dict)
    """Connector → the id of its worker."""
    moving: Mapping[str, str] = field(default_factory=dict)
    """Connector → the id of the worker that must end it before another worker gets it."""

    def encode(self) -> bytes:
        """The assignment as user data, about 20 bytes a connector: the group's record must stay below the broker's limit."""
        ids = list(self.workers)
        number = {worker: n for n, worker in enumerate(ids)}
        owners = {name: number[worker] for name, worker in self.owners.items()}
        moving = {name: number[worker] for name, worker in self.moving.items()}
        return _pack([_FORMAT, number[self.leader], [[i, self.workers[i]] for i in ids], self.offset, owners, moving])

    @staticmethod
    def decode(data: bytes) -> Assignment:
        """Raises ValueError for what no worker of this format wrote."""
        leader, workers, offset, owners, moving = _unpack(data, 5)
        ids = [str(worker) for worker, _ in workers]
        return Assignment(
            leader=ids[leader],
            workers={str(worker): str(url) for worker, url in workers},
            offset=int(offset),
            owners={name: ids[number] for name, number in owners.items()},
            moving={name: ids[number] for name, number in moving.items()},
        )


def assign(leader: str, claims: Iterable[Claim], connectors: Sequence[str], offset: int) -> Assignment:
    """The leader's decision. ``connectors`` are those of the config topic up to ``offset``; ``claims`` are those of all members."""
    members = {claim.worker_id: claim for claim in sorted(claims, key=lambda c: (c.worker_id, c.generation))}
    holder: dict[str, str] = {}
    for claim in sorted(members.values(), key=lambda c: -c.generation):
        for name in claim.owned:
            holder.setdefault(name, claim.worker_id)
    held: dict[str, list[str]] = {worker: [] for worker in members}
    free: list[str] = []
    for name in connectors:
        worker = holder.get(name)
        (free if worker is None else held[worker]).append(name)
    moving: dict[str, str] = {}
    for worker, most in _quotas(held, len(connectors)).items():
        # The newest connectors move.
        for name in held[worker][most:]:
            moving[name] = worker
        del held[worker][most:]
    owners = {name: worker for worker, names in held.items() for name in names}
    counts = Counter({worker: len(names) for worker, names in held.items()})
    for name in free:
        worker = _least(counts)
        owners[name] = worker
        counts[worker] += 1
    return Assignment(leader, {worker: claim.url for worker, claim in members.items()}, offset, owners, moving)


class Owners:
    """An assignment with the changes since: the owner of each connector, including those created later."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self._changes: dict[int, tuple[str, bool]] = {}
        self._newest = -1
        """The highest offset in ``_changes``."""
        self._former: dict[str, str] = {}
        """Deleted connector → the id of the worker that had it."""
        self._place()

    def change(self, offset: int, name: str, *, exists: bool) -> None:
        """A record of the config topic at ``offset`` sets or removes the connector. Calls may come in any order and repeatedly."""
        if offset <= self.assignment.offset or offset in self._changes:
            return
        self._changes[offset] = (name, exists)
        if offset > self._newest:
            self._newest = offset
            self._apply(name, exists=exists)
        else:
            self._place()

    def owner(self, name: str) -> str | None:
        """The id of the connector's worker; None while it moves or is unknown."""
        return self._owners.get(name)

    def leaving(self, name: str, worker: str) -> bool:
        """Whether ``worker`` must end the connector so that another worker gets it."""
        return self.assignment.moving.get(name) == worker

    def _place(self) -> None:
        self._owners = dict(self.assignment.owners)
        self._former = {}
        self._counts = Counter(dict.fromkeys(self.assignment.workers, 0))
        self._counts.update(self._owners.values())
        for _, (name, exists) in sorted(self._changes.items()):
            self._apply(name, exists=exists)

    def _apply(self, name: str, *, exists: bool) -> None:
        worker = self._owners.get(name)
        if exists and worker is None and name not in self.assignment.moving:
            worker = self._former.pop(name, None) or _least(self._counts)
            self._owners[name] = worker
            self._counts[worker] += 1
        elif not exists and worker is not None:
            self._former[name] = worker
            del self._owners[name]
            self._counts[worker] -= 1


def _quotas(held: Mapping[str, Sequence[str]], total: int) -> dict[str, int]:
    """How many connectors each worker may keep: the average, and one more for the fullest workers, as many as the remainder."""
    least, remainder = divmod(total, len(held))
    fullest = sorted(held, key=lambda worker: (-len(held[worker]), worker))
    return {worker: least + (position < remainder) for position, worker in enumerate(fullest)}


def _least(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda worker: (counts[worker], worker))


def _pack(value: object) -> bytes:
    return zlib.compress(orjson.dumps(value), 1)


def _after_first(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    stream.decompress(data)
    return stream.unused_data


def _unpack(data: bytes, count: int) -> list[Any]:
    """The ``count`` members after the format's number. Raises ValueError for another format."""
    try:
        found = orjson.loads(zlib.decompress(data))
    except zlib.error as problem:
        raise ValueError(str(problem)) from problem
    if not isinstance(found, list) or len(found) != count + 1 or found[0] != _FORMAT:
        raise ValueError(found)
    return found[1:]
