"""Counts what a run does in :class:`workers.spark.meters.figures.Figures`, and serves the figures while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from workers.spark.fallback import Fallbacks
from workers.spark.jobs.batch_totals import BatchTotals
from workers.spark.meters.endpoint import served
from workers.spark.meters.figures import Figures
from workers.spark.meters.listener import TriggerListener
from workers.spark.meters.settings import MetricsConfig
from workers.spark.tables.table import Effects, Sink, Table
from workers.spark.topics.broker import Offsets
from workers.spark.topics.known import TopicState


class CountedSink:
    """``sink``, whose effects on each table are counted."""

    def __init__(self, sink: Sink, figures: Figures) -> None:
        self._sink = sink
        self._figures = figures

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """See :class:`workers.spark.tables.table.Sink`."""
        names, tally = [one.table.full_name for one in effects], self._figures.tally
        # A batch may have several turns, and several topics may fill one table.
        parts = [(batch, names[:at].count(name)) for at, name in enumerate(names)]
        counting = zip(effects, names, parts, strict=True)
        self._sink.apply(batch, [replace(one, seen=partial(tally, name, part=part)) for one, name, part in counting])

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        """See :class:`workers.spark.tables.table.Sink`."""
        return self._sink.read(table, session)


def resumed(figures: Figures, topics: Mapping[str, TopicState], lacking: str | None = None) -> None:
    """Tell the figures what earlier runs left. ``lacking``: what the first incomplete transaction lacks."""
    figures.lacks(lacking)
    tables = {name: found for name, state in topics.items() if (found := _table(state)) is not None}
    figures.resumed(tables, {name for name, state in topics.items() if state.aside is not None})


def counted(
    apply: Callable[[DataFrame, int], BatchTotals], figures: Figures, topics: Callable[[], Mapping[str, TopicState]]
) -> Callable[[DataFrame, int], BatchTotals]:
    """``apply``, which applies a batch, with its results counted. ``topics`` returns the state after the last batch."""

    def one(records: DataFrame, batch: int) -> BatchTotals:
        figures.begun()
        try:
            done = apply(records, batch)
            states = topics()
        except Exception:
            figures.failed()
            raise
        finally:
            figures.job.fallbacks = Fallbacks.total
        figures.lacks(done.lacking)
        read = done.topics
        tables = {name: found for name, state in states.items() if (found := _table(state)) is not None}
        aside = {name: read[name].records if done.dead and name in read else 0 for name, state in states.items() if state.aside is not None}
        figures.applied(done.seconds, read, tables, aside)
        return done

    return one


def unread_of(read: Offsets, ends: Offsets) -> dict[str, int]:
    """Topic → the number of its records between the offsets ``read`` and ``ends``. Pure."""
    found: Counter[str] = Counter()
    for place, end in ends.items():
        found[place[0]] += max(0, end - read.get(place, 0))
    return dict(found)


@contextmanager
def metered(figures: Figures, config: MetricsConfig | None, spark: SparkSession, name: str) -> Iterator[None]:
    """Serve the figures within the block, if ``config`` is set. ``name`` is that of the job and of its query."""
    if config is None:
        yield
        return
    listener = TriggerListener(figures, name)
    with served(figures, name, config.port, config.address, config.seconds):
        spark.streams.addListener(listener)
        try:
            yield
        finally:
            spark.streams.removeListener(listener)


def _table(state: TopicState) -> str | None:
    if state.kept is not None:
        return state.kept
    return None if state.table is None else ".".join(state.table)
