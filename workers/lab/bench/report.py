"""A table of the runs' figures: one line for each figure, one column for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

LINES: Final = (
    ("process start to first REST answer, s", "start.first_answer_s", ".2f"),
    ("process start to connectors listed, s", "start.ready_s", ".2f"),
    ("POST to first event, s", "first_event_s", ".2f"),
    ("one event's value, bytes", "event_bytes", ",d"),
    ("snapshot, rows/s", "snapshot.rows_s", ",d"),
    ("small transactions, events/s", "stream.events_s", ",d"),
    ("one big transaction, events/s", "big_tx.events_s", ",d"),
    ("CPU of the snapshot, µs per row", "snapshot.cpu_us_per_event", ".1f"),
    ("CPU of small transactions, µs per event", "stream.cpu_us_per_event", ".1f"),
    ("CPU of one big transaction, µs per event", "big_tx.cpu_us_per_event", ".1f"),
    ("rows a second while delays were taken", "latency_ms.rate", ",d"),
    ("delay p50, ms", "latency_ms.p50", ",.1f"),
    ("delay p95, ms", "latency_ms.p95", ",.1f"),
    ("delay p99, ms", "latency_ms.p99", ",.1f"),
    ("CPU at that rate, % of a core", "latency_ms.cpu_pct", ".1f"),
    ("memory idle, MiB", "idle_mb", ",d"),
    ("memory before one big transaction, MiB", "big_tx.before_mb", ",d"),
    ("memory peak, one big transaction, MiB", "big_tx.peak_mb", ",d"),
    ("memory peak, whole run, MiB", "peak_mb", ",d"),
    ("events delivered twice", "extra_events", ",d"),
    ("scrapes of the metrics", "scrapes.scrapes", ",d"),
    ("series of a scrape", "scrapes.series", ",d"),
    ("answer to a scrape p50, ms", "scrapes.p50", ",.1f"),
)
"""(Label, path of the figure, format) for each line."""


def table(runs: Sequence[tuple[str, Mapping[str, object]]]) -> str:
    """The runs side by side, each with the heading of its column. Figures that no run has are left out; a missing one is a dash."""
    rows = []
    for label, path, form in LINES:
        found = [_at(result, path) for _, result in runs]
        if any(figure is not None for figure in found):
            rows.append([label, *("-" if figure is None else format(figure, form) for figure in found)])
    rows.insert(0, ["", *(heading for heading, _ in runs)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(runs) + 1)]
    lines = ((f"{row[0]:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))) for row in rows)
    return "\n".join("  ".join(cells).rstrip() for cells in lines)


def surroundings(machine: Mapping[str, object], versions: Mapping[str, str]) -> str:
    """The machine and the programs in two lines, for the head of a table."""
    place = f"{machine['cores']} cores of {machine['cpu']}, {machine['memory_gb']} GiB, {machine['system']}, load {machine['load_before']}"
    return f"{place}\n{', '.join(f'{name} {version}' for name, version in versions.items())}"


def _at(result: Mapping[str, object], path: str) -> float | None:
    found: object = result
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, int | float) else None
