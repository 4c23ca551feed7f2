"""The transactions of a transactional producer, one after the other (exactly-once delivery, KIP-618).

The sink begins a transaction when all its records are known, and commits it as soon as Kafka has them. No transaction is therefore open
while the task waits for the database. :data:`TRANSITIONS` lists the allowed steps of each phase; any other step is a defect.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

Phase = Enum("Phase", ["IDLE", "OPEN", "ENDING", "OVER"])
"""IDLE: no transaction is open. OPEN: a transaction accepts records. ENDING: its commit was requested. OVER: a transaction failed, and this
producer begins no other."""

Step = Enum("Step", ["BEGIN", "COMMIT", "COMMITTED", "FAIL"])

TRANSITIONS: Final[Mapping[Phase, Mapping[Step, Phase]]] = {
    Phase.IDLE: {Step.BEGIN: Phase.OPEN, Step.FAIL: Phase.OVER},
    Phase.OPEN: {Step.COMMIT: Phase.ENDING, Step.FAIL: Phase.OVER},
    Phase.ENDING: {Step.COMMITTED: Phase.IDLE, Step.FAIL: Phase.OVER},
    Phase.OVER: {Step.FAIL: Phase.OVER},
}


class TransactionLife:
    """The phase of a producer. ``timeout`` is ``transaction.timeout.ms`` in seconds; times come from a monotonic clock."""

    __slots__ = ("_begun", "_timeout", "abortable", "phase")

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._begun = 0.0
        self.phase = Phase.IDLE
        self.abortable = False
        """Whether a transaction is open whose commit was not requested. Without an abort, readers would wait for its timeout."""

    def step(self, step: Step, now: float) -> None:
        """Take a step. Raises RuntimeError for a step that the phase does not allow."""
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
        """Return whether the last transaction may have timed out at the broker. Its error then looks like that of a fenced producer."""
        return now - self._begun >= self._timeout
