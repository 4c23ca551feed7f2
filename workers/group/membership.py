"""The interface between a worker and its group, and the group of a single worker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from workers.group.assignment import Assignment, Claim


class GroupMember(Protocol):
    """The worker as its membership sees it. These methods must neither wait nor raise."""

    def claim(self) -> Claim:
        """What the worker sends to the next generation."""

    def assign(self, claims: Iterable[Claim]) -> Assignment:
        """Decide as the group's leader. For itself the worker goes by what it runs now, not by its claim, which may be older."""

    def joining(self) -> None:
        """A generation ends. Until :meth:`assigned` the worker keeps what it runs but starts nothing that the ended generation assigned."""

    def assigned(self, assignment: Assignment, generation: int) -> None:
        """A generation begins."""

    def kept_out(self, problem: str) -> None:
        """The group does not admit the worker; ``problem`` is a sentence with the reason. The membership tries again."""

    def alone(self) -> None:
        """The group has no other member, and each later one will see this worker. So it may act before the first generation."""


class Membership(Protocol):
    """A worker's membership of its group."""

    async def start(self, member: GroupMember) -> None:
        """Begin to join, and return at once. Assignments follow."""

    def rejoin(self) -> None:
        """Ask for a new generation."""

    async def stop(self) -> None:
        """Leave. The worker must have ended its connectors before."""


class SoleMembership:
    """A group of one, without Kafka."""

    def __init__(self) -> None:
        self._member: GroupMember | None = None
        self._generation = 0

    async def start(self, member: GroupMember) -> None:
        """Join and lead."""
        self._member = member
        self.rejoin()

    def rejoin(self) -> None:
        """Begin a new generation at once."""
        if self._member is not None:
            self._member.joining()
            self._generation += 1
            self._member.assigned(self._member.assign([self._member.claim()]), self._generation)

    async def stop(self) -> None:
        """Leave the group. No member is notified."""
        self._member = None
