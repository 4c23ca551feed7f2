"""The figures as text in Prometheus' format 0.0.4. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from workers.spark.meters.figures import Figures, JobFigures, TableFigures

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "understudy_spark_"

_JOB: Final[tuple[tuple[str, str, str, Callable[[JobFigures], float]], ...]] = (
    ("batches_total", "counter", "Batches that are in the tables, since the start.", lambda job: job.batches),
    ("batch_failures_total", "counter", "Batches that failed, since the start.", lambda job: job.failures),
    ("records_total", "counter", "Records of all batches, since the start.", lambda job: job.records),
    ("batch_seconds_total", "counter", "The time that all batches took.", lambda job: job.seconds),
    ("last_batch_seconds", "gauge", "The time that the last batch took.", lambda job: job.last_seconds),
    ("last_batch_timestamp_seconds", "gauge", "When the last batch ended, 0 before.", lambda job: job.last_batch),
    ("last_success_timestamp_seconds", "gauge", "When the last batch without failure ended, 0 before.", lambda job: job.last_success),
    ("batch_begin_timestamp_seconds", "gauge", "When the present batch began, 0 if none runs.", lambda job: job.began),
    (
        "maintenance_begin_timestamp_seconds",
        "gauge",
        "When a table's present maintenance began, 0 if none runs.",
        lambda job: job.maintaining,
    ),
    ("unread_records", "gauge", "Records in Kafka that are in no table yet.", lambda job: job.unread),
    ("unread_timestamp_seconds", "gauge", "When the unread records were counted last, 0 before.", lambda job: job.looked),
    ("start_timestamp_seconds", "gauge", "When the job started.", lambda job: job.started),
    ("triggers_total", "counter", "Triggers of Spark's query, since the start.", lambda job: job.triggers),
    ("small_batch_fallbacks_total", "counter", "Failed steps of small batches, since the start.", lambda job: job.fallbacks),
)
_TABLE: Final[tuple[tuple[str, str, str, Callable[[TableFigures, float], float]], ...]] = (
    ("table_records_total", "counter", "Records of the table's topic.", lambda one, _: one.records),
    ("table_rows_total", "counter", "Rows that were inserted or updated.", lambda one, _: one.rows),
    ("table_deletes_total", "counter", "Rows that were deleted.", lambda one, _: one.deletes),
    ("table_batches_total", "counter", "Batches with records of the table.", lambda one, _: one.batches),
    ("table_failures_total", "counter", "How often the table was set aside.", lambda one, _: one.failures),
    ("table_dead_letters_total", "counter", "Records that were stored as dead letters.", lambda one, _: one.dead),
    ("table_set_aside", "gauge", "1 if the table is set aside.", lambda one, _: one.aside),
    ("table_lag_records", "gauge", "Records in Kafka that are not in the table yet.", lambda one, _: one.unread),
    ("table_lag_seconds", "gauge", "Age of the newest record in the table, 0 if none is unread.", lambda one, now: one.lag_seconds(now)),
    ("table_newest_record_timestamp_seconds", "gauge", "Kafka's time of the newest record in the table.", lambda one, _: one.newest),
    ("table_last_batch_timestamp_seconds", "gauge", "When the last batch with records of the table ended.", lambda one, _: one.last_batch),
)
NAMES: Final = (*(PREFIX + name for name, *_ in (*_JOB, *_TABLE)), f"{PREFIX}trigger_phase_seconds")


def exposition(figures: Figures, job: str, now: float) -> str:
    """All series. ``job`` is the job's name, ``now`` the present time in seconds since 1970."""
    return "".join(_lines(figures, job, now))


def _lines(figures: Figures, job: str, now: float) -> Iterator[str]:
    own = f'job_name="{_escaped(job)}"'
    for name, kind, text, of in _JOB:
        yield from _family(name, kind, text)
        yield _sample(name, own, of(figures.job))
    yield from _family("trigger_phase_seconds", "gauge", "The phases of the query's last trigger, as Spark names them.")
    for phase, seconds in sorted(figures.job.phases.items()):
        yield _sample("trigger_phase_seconds", f'{own},phase="{_escaped(phase)}"', seconds)
    topics = sorted(figures.topics().items())
    for name, kind, text, of_table in _TABLE:
        yield from _family(name, kind, text)
        for topic, known in topics:
            labels = f'{own},table="{_escaped(known.table)}",topic="{_escaped(topic)}"'
            yield _sample(name, labels, of_table(known, now))


def _family(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {PREFIX}{name} {text}\n"
    yield f"# TYPE {PREFIX}{name} {kind}\n"


def _sample(name: str, labels: str, value: float) -> str:
    return f"{PREFIX}{name}{{{labels}}} {float(value)!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
