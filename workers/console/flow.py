"""What a running task does now: the figures of a connector on the pages, also of one that another worker of the group runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from connector.delivery.progress import Progress
from workers.console.figures import duration


@dataclass(frozen=True, slots=True)
class Bar:
    """A snapshot's progress. ``rows`` of ``estimate``; the latter is 0 if unknown. ``left`` is the remaining time as text, or empty."""

    rows: int
    estimate: int
    tables: str
    left: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The figures of one running task, as its worker knows them."""

    phase: str
    rates: Sequence[float]
    """Events per second, oldest first."""
    unconfirmed: int
    """Bytes of WAL that the task has received and not yet confirmed."""
    lag_ms: int | None
    """The age of the last event while some WAL is unconfirmed; None if no event waits."""
    snapshot: Bar | None

    @staticmethod
    def of(progress: Progress, rates: Sequence[float], now_ms: int) -> Flow:
        """The flow of a task that runs here. ``now_ms`` is the wall clock in milliseconds since 1970."""
        waiting = max(0, progress.received_lsn - progress.acknowledged_lsn) if progress.acknowledged_lsn else 0
        age = max(0, now_ms - progress.last_event_source_ms) if waiting and progress.last_event_source_ms else None
        return Flow(progress.phase, rates, waiting, age, _bar(progress) if progress.phase == "snapshot" else None)

    def as_json(self) -> dict[str, Any]:
        """The flow for another worker; :meth:`of_json` reads it."""
        return {**asdict(self), "rates": [round(rate, 1) for rate in self.rates]}

    @staticmethod
    def of_json(given: Mapping[str, Any]) -> Flow:
        """Raises KeyError, TypeError or ValueError if ``given`` is not a flow."""
        bar, lag = given["snapshot"], given["lag_ms"]
        snapshot = None if bar is None else Bar(int(bar["rows"]), int(bar["estimate"]), str(bar["tables"]), str(bar["left"]))
        rates = tuple(float(rate) for rate in given["rates"])
        return Flow(str(given["phase"]), rates, int(given["unconfirmed"]), None if lag is None else int(lag), snapshot)


def _bar(progress: Progress) -> Bar:
    tables = progress.tables
    done = sum(1 for table in tables if table.done)
    estimates = [max(table.estimate, table.rows) if not table.done else table.rows for table in tables]
    known = all(table.estimate >= 0 or table.done for table in tables)
    left = [table.pace()["seconds_left"] for table in tables]
    seconds = [second for second in left if second is not None]
    remaining = sum(seconds) if len(seconds) == len(left) else 0.0
    return Bar(
        rows=sum(table.rows for table in tables),
        estimate=sum(estimates) if known else 0,
        tables=f"{done} of {len(tables)} tables",
        left=duration(remaining) if remaining else "",
    )
