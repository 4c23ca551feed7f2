"""The worker's place in its group: who else is there, who leads, who runs what. The port and its simplest player."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from workers.assignment import Assignment, Claim


class Member(Protocol):
    """What a membership asks of the worker and tells it. Nothing here may wait or raise."""

    def claim(self) -> Claim:
        """What the worker brings to the generation that begins."""

    def assign(self, claims: Iterable[Claim]) -> Assignment:
        """Decide as the group's leader."""

    def joining(self) -> None:
        """A generation ends: what it gave goes on until :meth:`assigned`, but nothing new may be begun on its word."""

    def assigned(self, assignment: Assignment, generation: int) -> None:
        """A generation begins."""

    def kept_out(self, problem: str) -> None:
        """The group does not take the worker, for the reason of one sentence; it tries again."""

    def alone(self) -> None:
        """The group has no other member yet, and whoever comes will see this one: a first generation may be taken for granted."""


class Membership(Protocol):
    """A worker's membership of its group."""

    async def start(self, member: Member) -> None:
        """Join; returns at once, assignments follow."""

    def rejoin(self) -> None:
        """Ask for a new generation."""

    async def stop(self) -> None:
        """Leave. The worker must have ended what it runs."""


class SoleMembership:
    """A group of one, without Kafka."""

    def __init__(self) -> None:
        self._member: Member | None = None
        self._generation = 0

    async def start(self, member: Member) -> None:
        """Join and lead."""
        self._member = member
        self.rejoin()

    def rejoin(self) -> None:
        """Decide anew."""
        if self._member is not None:
            self._member.joining()
            self._generation += 1
            self._member.assigned(self._member.assign([self._member.claim()]), self._generation)

    async def stop(self) -> None:
        """Nobody is told."""
        self._member = None
