"""Applies a connector's transforms to a record, one after the other, each where its predicate allows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.transforms.transform import Predicate, SharesHeaders, Transform


@dataclass(frozen=True, slots=True)
class Step:
    """One transform of a chain. ``alias`` is the configuration's name for it, ``name`` its class's simple name."""

    alias: str
    name: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False


class StepError(Exception):
    """A step failed on a record. The text names the step and the reason, and holds no value."""

    def __init__(self, step: Step, record: ConnectRecord, reason: str, shared: tuple[Header, ...] = ()) -> None:
        super().__init__(reason)
        self.step = step
        self.shared = shared
        """The headers that the steps before added to the shared ones."""
        self.record = record
        """The record as the step was given it."""


class Chain:
    """The steps in order."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)

    def __bool__(self) -> bool:
        """Whether there is any step."""
        return bool(self.steps)

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record that is to be written, or None when a step drops it. Raises StepError."""
        return self.apply_with_shared(record)[0]

    def apply_with_shared(self, record: ConnectRecord) -> tuple[ConnectRecord | None, tuple[Header, ...]]:
        """Do the same, and return the headers that the first steps added to the shared ones (:class:`SharesHeaders`)."""
        shared: tuple[Header, ...] = ()
        shares = True
        for step in self.steps:
            try:
                if step.predicate is not None and step.predicate.test(record) == step.negate:
                    continue
                changed = step.transform.apply(record)
            except DataError as problem:
                raise StepError(step, record, str(problem), shared) from problem
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
                # A step that was given what it cannot handle; its text may hold values.
                raise StepError(step, record, f"{type(problem).__name__} in the transform", shared) from problem
            if changed is None:
                return None, shared
            # Any other step copies the headers when it makes a record.
            shares = shares and (changed is record or isinstance(step.transform, SharesHeaders))
            if shares and changed.headers is not record.headers:
                shared = _shared(shared, record.headers, changed.headers)
            record = changed
        return record, shared


def _shared(shared: tuple[Header, ...], before: tuple[Header, ...], after: tuple[Header, ...]) -> tuple[Header, ...]:
    """The shared headers after one more step, which may have replaced some of them."""
    kept, known = set(map(id, after)), set(map(id, before))
    return (*(header for header in shared if id(header) in kept), *(header for header in after if id(header) not in known))
