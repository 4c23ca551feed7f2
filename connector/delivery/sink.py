"""The protocol for what the runner needs from a task's producer."""

from __future__ import annotations

from typing import Protocol

from connector.delivery.frontier import Frontier, Mark
from connector.delivery.offsets import Position
from connector.ports import Out


class Sink(Protocol):
    """Takes records and the positions that follow them, and reports the last position before which Kafka has everything."""

    stores_offsets: bool
    """Whether Kafka stores the offset together with the records, so that a reached position is also stored."""

    @property
    def frontier(self) -> Frontier:
        """The marked, the stored and the confirmed position of this task."""

    @property
    def reached(self) -> Mark | None:
        """The last mark before which Kafka has everything."""

    @property
    def idle(self) -> bool:
        """Whether no record waits and none is in flight."""

    def out(self, topic: str, *, apart: bool = False) -> Out:
        """Return the object to which the records of ``topic`` are appended. The topic is created when the first record is sent.

        ``apart`` says that the records have no place in the stream (heartbeats, notifications), so they do not wait for a position.
        """

    def bind(self, *, to_marks: bool) -> None:
        """Decide whether records may be committed only together with the position that follows them."""

    def pump(self) -> None:
        """Begin to send the appended records that do not wait for a position. Raises the failure of an earlier batch."""

    def send(self, position: Position) -> None:
        """Begin to send all appended records; they are all before ``position``. Raises the failure of an earlier batch."""

    async def room(self) -> None:
        """Wait until the waiting and in-flight records are below the limit. Raises the failure of a batch."""

    async def drained(self) -> None:
        """Wait until Kafka has acknowledged everything that was sent. Raises the failure of a batch."""
