"""What a mirror remembers from batch to batch, beside the stream's own checkpoint, on any file system that Spark knows.

One document a batch, written when the batch is in the tables: batch N begins with the document of the last batch before it, so a batch
that is repeated after a crash begins with the same one. What must be known before the tables change is written ahead
(:meth:`Checkpoint.ahead`) and read again instead of being made again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.known import Known, TopicState, Truncate

_SCHEMA: Final = "_schema.json"
"""Beside the files of a table that is written ahead. Spark passes over names that begin like this."""
FORM: Final = 1
"""Of the documents: another one is refused."""
KEPT_BATCHES: Final = 3
"""Documents that are kept; the stream goes back by one batch at most."""


@dataclass(frozen=True, slots=True)
class State:
    """What a batch begins with, all topics by name.

    ``waiting`` is the batch whose held records are to be read with this one, None without any; ``applied`` are the last transactions
    in the tables, oldest first.
    """

    topics: Mapping[str, TopicState] = field(default_factory=dict)
    waiting: int | None = None
    applied: tuple[str, ...] = ()


class Checkpoint:
    """The documents below ``folder`` (a Hadoop path: local, HDFS, object store)."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/") + "/understudy"

    @property
    def stream(self) -> str:
        """Where the stream keeps its own."""
        return self._folder.removesuffix("/understudy") + "/stream"

    def before(self, batch: int) -> State:
        """The state that ``batch`` begins with. Raises JobError when it is of another form."""
        numbers = [number for number in self._batches() if number < batch]
        if not numbers:
            return State()
        document = json.loads(self._read(self._document(max(numbers))))
        if document.get("form") != FORM:
            mend = "Remove it and the tables, and let the mirror begin anew."
            raise JobError(UNREADABLE, f"The checkpoint {self._folder.removesuffix('/understudy')} is another version's. {mend}")
        return _state(document)

    def last(self) -> State:
        """The state after the last batch that is in the tables."""
        return self.before(max(self._batches(), default=-1) + 1)

    def offsets(self) -> dict[tuple[str, int], int]:
        """Up to where each topic partition is in the tables: the offsets of the stream's last finished batch."""
        finished = self.finished()
        if finished is None:
            return {}
        # Spark's log: a version, the batch's metadata, then one line for each source (here Kafka's alone).
        text = self._read(f"{self.stream}/offsets/{finished}")
        topics: dict[str, dict[str, int]] = json.loads(text.splitlines()[2])
        return {(topic, int(number)): end for topic, parts in topics.items() for number, end in parts.items()}

    def finished(self) -> int | None:
        """The last batch that the stream has noted as done; None when there is none. What is behind it is begun again."""
        return max((int(name) for name in self._names_of(f"{self.stream}/commits") if name.isdigit()), default=None)

    def identity(self) -> str:
        """A name that no other checkpoint has."""
        path = f"{self._folder}/identity"
        if not self._exists(path):
            self._write(path, uuid.uuid4().hex)
        return self._read(path)

    def after(self, batch: int, state: State) -> None:
        """Remember the state at the end of ``batch``, and forget what no batch can need again."""
        self._write(self._document(batch), json.dumps({"form": FORM, **asdict(state)}))
        for number in self._batches():
            if number <= batch - KEPT_BATCHES:
                self._delete(self._document(number))
        needed = {number for topic in state.topics.values() for number, _ in topic.moved} | {state.waiting}
        for name in self._names("ahead"):
            number = int(name.partition("-")[0])
            if number <= batch - KEPT_BATCHES and number not in needed:
                self._delete(f"{self._folder}/ahead/{name}")

    def ahead(self, batch: int, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """What ``make`` gives, made once for ``batch`` whatever happens to the batch afterwards."""
        path = self._ahead(batch, name)
        if not self._exists(f"{path}/{_SCHEMA}"):
            made = make()
            made.write.mode("overwrite").parquet(path)
            # Last, so that it says that all is there. With it Spark need not look into the files for what they hold.
            self._write(f"{path}/{_SCHEMA}", made.schema.json())
        return self.made([batch], name)[0]

    def made(self, batches: Sequence[int], name: str) -> list[DataFrame]:
        """What :meth:`ahead` kept for ``batches``, those of one schema together."""
        paths: dict[str, list[str]] = {}
        for batch in batches:
            path = self._ahead(batch, name)
            paths.setdefault(self._read(f"{path}/{_SCHEMA}"), []).append(path)
        return [self._spark.read.schema(StructType.fromJson(json.loads(schema))).parquet(*of) for schema, of in paths.items()]

    def _ahead(self, batch: int, name: str) -> str:
        return f"{self._folder}/ahead/{batch}-{name}"

    def _document(self, batch: int) -> str:
        return f"{self._folder}/state/{batch}.json"

    def _batches(self) -> list[int]:
        return [int(name.removesuffix(".json")) for name in self._names("state") if name.endswith(".json")]

    # --- files, by Hadoop's own file systems

    def _system(self, path: str) -> tuple[Any, Any]:
        jvm: Any = self._spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way to the file systems that it writes to
        at = jvm.org.apache.hadoop.fs.Path(path)
        return at.getFileSystem(self._spark.sparkContext._jsc.hadoopConfiguration()), at  # noqa: SLF001 - the same

    def _exists(self, path: str) -> bool:
        system, at = self._system(path)
        return bool(system.exists(at))

    def _names(self, folder: str) -> list[str]:
        return self._names_of(f"{self._folder}/{folder}")

    def _names_of(self, folder: str) -> list[str]:
        system, at = self._system(folder)
        return [str(status.getPath().getName()) for status in system.listStatus(at)] if system.exists(at) else []

    def _read(self, path: str) -> str:
        system, at = self._system(path)
        stream = system.open(at)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def _write(self, path: str, text: str) -> None:
        """Whole or not at all: under another name first."""
        system, at = self._system(path)
        _, aside = self._system(path + ".new")
        stream = system.create(aside, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        system.delete(at, False)
        system.rename(aside, at)

    def _delete(self, path: str) -> None:
        system, at = self._system(path)
        system.delete(at, True)


def _state(document: Mapping[str, Any]) -> State:
    topics = {
        name: TopicState(
            None if topic["table"] is None else tuple(topic["table"]),
            tuple(Known(**{**known, "newest": tuple(known["newest"])}) for known in topic["layouts"]),
            tuple(Truncate(**truncate) for truncate in topic["truncates"]),
            tuple((batch, layout) for batch, layout in topic["moved"]),
            None if topic["followed"] is None else tuple(topic["followed"]),
            tuple((move, batch) for move, batch in topic["awaited"]),
        )
        for name, topic in document["topics"].items()
    }
    return State(topics, document["waiting"], tuple(document["applied"]))
