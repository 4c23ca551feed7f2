"""The life of a transactional producer's transactions, one after the other (exactly-once delivery, KIP-618).

A transaction is begun only when all that it is to hold is known, and ended at once when Kafka has it: none is ever open while
somebody waits for the database. Which step may follow which is :data:`TRANSITIONS`; any other is a defect.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

Phase = Enum("Phase", ["IDLE", "OPEN", "ENDING", "OVER"])
"""No transaction; records go into one; its commit is asked for; one failed, and this producer begins no other."""

Step = Enum("Step", ["BEGIN", "COMMIT", "COMMITTED", "FAIL"])

TRANSITIONS: Final[Mapping[Phase, Mapping[Step, Phase]]] = {
    Phase.IDLE: {Step.BEGIN: Phase.OPEN, Step.FAIL: Phase.OVER},
    Phase.OPEN: {Step.COMMIT: Phase.ENDING, Step.FAIL: Phase.OVER},
    Phase.ENDING: {Step.COMMITTED: Phase.IDLE, Step.FAIL: Phase.OVER},
    Phase.OVER: {Step.FAIL: Phase.OVER},
}


class TransactionLife:
    """Where a producer stands. ``timeout`` is ``transaction.timeout.ms`` in seconds; times are a monotonic clock's."""

    __slots__ = ("_begun", "_timeout", "abortable", "phase")

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._begun = 0.0
        self.phase = Phase.IDLE
        self.abortable = False
        """A transaction is open whose commit was not asked for: it can be aborted, so that nobody waits for its end."""

    def step(self, step: Step, now: float) -> None:
        """Take a step. Raises RuntimeError for one that may not come here."""
        following = TRANSITIONS[self.phase].get(step)
        if following is None:
            raise RuntimeError(f"{step.name} may not come in phase {self.phase.name} of a transaction")
        if step is Step.BEGIN:
            self._begun = now
            self.abortable = True
        elif step in (Step.COMMIT, Step.COMMITTED):
            self.abortable = False
        self.phase = following

    def outlived(self, now: float) -> bool:
        """The transaction begun last may have been ended by the broker for its age, which looks as if another producer had taken over."""
        return now - self._begun >= self._timeout
