"""Sets a table aside that cannot be applied for a reason of its own, so that the other tables of the batch go on.

Reasons of its own are errors in the table's data, columns or layout (:class:`workers.spark.failure.TableError`). A place of tables that
does not answer, a lost executor or a checkpoint that cannot be written concern every table: they still stop the job, and the batch is
repeated.

The records of a topic that is set aside are *dead letters*: they are stored as Kafka has them, with the reason, in
``<checkpoint>/dead-letters/topic=<topic>/batch=<number>`` before the state after the batch is stored. A repetition of the batch replaces
them. They are removed when the topic is no longer set aside, after a rebuild.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Final, Protocol, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.failure import JobError, TableError, failure_sentence, is_own
from workers.spark.tables.table import Effects, Sink
from workers.spark.topics.known import TopicState

FOLDER: Final = "dead-letters"
"""The folder of the dead letters in the checkpoint's folder."""
_TOPIC: Final = "topic="
_COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value", "headers")
Planned = TypeVar("Planned")


class Files(Protocol):
    """The file system of the checkpoint."""

    @property
    def folder(self) -> str:
        """The checkpoint's folder."""

    def listed(self, folder: str) -> list[str]:
        """The names in a folder; empty if there is no such folder."""

    def remove(self, path: str) -> None:
        """Delete a file or a folder."""


class Isolation:
    """Sets tables aside, and stores the dead letters in the folder of ``files``. With None the first failure is raised instead."""

    def __init__(self, files: Files | None) -> None:
        self._files = files

    def planned(self, plan: Callable[[], Planned], table: str, aside: Callable[[str], Planned]) -> Planned:
        """The result of ``plan``; that of ``aside`` for the reason of the table's own failure."""
        if self._files is None:
            return plan()
        try:
            with of_table(table):
                return plan()
        except TableError as error:
            return aside(_reason(error))

    def refusal(self, read: Callable[[], object]) -> str | None:
        """Why ``read`` refuses the layouts of a topic; None if it does not."""
        if self._files is not None:
            try:
                read()
            except JobError as error:
                return _reason(error)
        return None

    def apply(self, sink: Sink, number: int, effects: Sequence[Effects]) -> dict[str, str]:
        """Apply the effects. Return the reason for each table (``schema.name``) that could not be applied.

        The effects on the other tables may be applied again after each failure, which changes nothing.
        """
        failed: dict[str, str] = {}
        left = list(effects)
        while True:
            try:
                sink.apply(number, left)
            except TableError as error:
                if self._files is None:
                    raise
                rest = [one for one in left if one.table.full_name != error.table]
                if len(rest) == len(left):
                    raise
                failed[error.table], left = _reason(error), rest
            else:
                return failed

    def store(self, records: DataFrame, batch: int, reasons: Mapping[str, str]) -> int:
        """Store the batch's ``records`` (Kafka's) of the topics in ``reasons``. Return their number."""
        if self._files is None or not reasons:
            return 0
        topic, seen = F.col("topic"), Observation()
        reason = reduce(lambda found, name: found.when(topic == name, F.lit(reasons[name])), reasons, _no_case())
        mine = records.where(topic.isin(*reasons)).observe(seen, F.count("*").alias("records"))
        (
            mine.select("topic", F.lit(batch).alias("batch"), *_COLUMNS, reason.alias("reason"))
            .write.partitionBy("topic", "batch")
            .mode("overwrite")
            .option("partitionOverwriteMode", "dynamic")
            .parquet(_folder(self._files))
        )
        return int(seen.get.get("records", 0))

    def clear(self, states: Mapping[str, TopicState]) -> list[str]:
        """Remove the dead letters of topics that are not set aside. Return the names of these topics."""
        if self._files is None:
            return []
        folder = _folder(self._files)
        there = sorted(name.removeprefix(_TOPIC) for name in self._files.listed(folder) if name.startswith(_TOPIC))
        gone = [name for name in there if states.get(name, TopicState()).aside is None]
        for name in gone:
            self._files.remove(f"{folder}/{_TOPIC}{name}")
        return gone


@contextmanager
def of_table(table: str) -> Iterator[None]:
    """Convert Spark's errors in the table's data to a TableError without values. Other errors pass unchanged."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if not is_own(str(error)):
            raise
        raise TableError(table, f"The changes of {table} could not be read: {failure_sentence(str(error))}") from None


def _folder(files: Files) -> str:
    return f"{files.folder}/{FOLDER}"


def _reason(error: Exception) -> str:
    """The error's message as the first part of a longer sentence."""
    return str(error).rstrip(".")


def _no_case() -> Column:
    return F.when(F.lit(False), F.lit(None).cast("string"))
