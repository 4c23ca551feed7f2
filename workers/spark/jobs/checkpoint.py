"""Stores the state of a mirror between batches, beside the stream's own checkpoint, on any file system that Spark supports.

A batch has one *turn*, and one more for each change of a table's key (:mod:`workers.spark.topics.turns`). When the tables hold a turn's
changes, one document stores the state after it. The next turn begins with this state, and so does its repetition after a crash.
Data that must not change in a repetition is stored before the tables change (:meth:`Checkpoint.ahead`).
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.known import Known, Reached, TopicState, Truncate, Unread

_SCHEMA: Final = "_schema.json"
"""A file beside the data that is written ahead. Spark ignores names that begin with an underscore."""
FORM: Final = 2
"""The version of the documents. Documents of other versions are refused."""
KEPT_BATCHES: Final = 3
"""The number of batches whose documents are kept. The stream repeats at most one batch."""
_START_AGAIN: Final = (
    "Restore it from a backup. Without one, name a new folder in checkpoint and start with --rebuild for each table: the topics are read"
    " from their start, and the tables' rows are replaced."
)
TURNS: Final = 1000
"""The first turn of a batch has the batch's number times this. Later turns of the batch count on."""


@dataclass(frozen=True, slots=True)
class State:
    """The state before a turn. ``topics`` has the state of each topic by name.

    ``waiting`` names the records that were written ahead (turn, name) and that the next batch reads. ``later`` names those for the next
    turn of the same batch; None if it has no more turns. If whole transactions are applied, ``applied`` is the highest LSN of the
    transactions in the tables, ``applied_ms`` the latest time of their commits (ms since 1970), and ``reached`` the newest event of each
    topic partition.
    """

    topics: Mapping[str, TopicState] = field(default_factory=dict)
    waiting: tuple[tuple[int, str], ...] = ()
    later: tuple[int, str] | None = None
    applied: int = 0
    unread: tuple[Unread, ...] = ()
    replacing: tuple[str, ...] = ()
    """Topics whose next changes replace all rows of their tables."""
    rebuilding: tuple[str, ...] = ()
    """Topics whose rebuild (:mod:`workers.spark.jobs.rebuild`) is not finished. After a crash it begins again, before any other batch."""
    applied_ms: int = 0
    reached: tuple[Reached, ...] = ()
    lacking: str | None = None
    """What the first incomplete transaction lacks; None if none waits."""
    lacking_ms: int = 0
    """Kafka's time of the record of its end (ms since 1970)."""


class Checkpoint:
    """The documents in ``folder`` (a Hadoop path: local, HDFS, object store).

    ``from_begin``: the stream's first batch begins with the first record of each partition.
    """

    def __init__(self, spark: SparkSession, folder: str, *, from_begin: bool = True) -> None:
        self._spark = spark
        self._from_begin = from_begin
        self._folder = folder.rstrip("/") + "/understudy"
        self._newest: tuple[int, dict[tuple[str, int], int], dict[tuple[str, int], int]] | None = None
        """The last batch of :meth:`ranges`, its ends and its begins."""

    @property
    def stream(self) -> str:
        """The folder of the stream's own checkpoint."""
        return self._folder.removesuffix("/understudy") + "/stream"

    @property
    def folder(self) -> str:
        """The folder that the configuration names."""
        return self._folder.removesuffix("/understudy")

    def check(self) -> None:
        """Check that the state for the next batch can be read. Raises JobError that names the damaged file and the remedy."""
        self.last()
        done = self.finished()
        # The stream reads the offsets of its last finished batch and of the batches after it.
        for batch in sorted(number for number in self._numbers("offsets") if done is None or number >= done):
            planned_again = (done is None or batch > done) and self.last_turn() < batch * TURNS
            self._offsets(batch, "Remove it: its batch has changed nothing yet and is planned again." if planned_again else _START_AGAIN)
        if done is not None and not self._read(f"{self.stream}/commits/{done}").strip():
            raise JobError(UNREADABLE, f"The checkpoint's file {self.stream}/commits/{done} is damaged. {_START_AGAIN}")

    def last_turn(self) -> int:
        """The number of the last turn that is in the tables, -1 for none."""
        return max(self._turns(), default=-1)

    def begin(self, batch: int) -> tuple[int, State]:
        """The number of the first turn of ``batch`` that is not in the tables yet, and the state before it.

        Raises JobError when the document is damaged or has another version.
        """
        first = batch * TURNS
        last = max((number for number in self._turns() if number < first + TURNS), default=-1)
        return max(first, last + 1), State() if last < 0 else self._state(last)

    def last(self) -> State:
        """The state after the last turn that is in the tables."""
        number = self.last_turn()
        return State() if number < 0 else self._state(number)

    def _state(self, number: int) -> State:
        path = self._document(number)
        try:
            document = json.loads(self._read(path))
            if document.get("form") == FORM:
                return _state(document)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise JobError(UNREADABLE, f"The checkpoint's file {path} is damaged. {_START_AGAIN}") from None
        remedy = "Remove it and the tables, and start the mirror again."
        raise JobError(UNREADABLE, f"The checkpoint {self.folder} is another version's. {remedy}")

    def offsets(self, batch: int | None = None) -> dict[tuple[str, int], int]:
        """The offset at which ``batch`` ends in each topic partition. Without ``batch`` it is the last finished batch."""
        batch = self.finished() if batch is None else batch
        return {} if batch is None else self._offsets(batch, _START_AGAIN)

    def ranges(self, batch: int) -> dict[tuple[str, int], tuple[int | None, int]]:
        """Topic partition → the offset at which ``batch`` begins there, and the one at which it ends, if it has any between them.

        The begin is None in a partition that the batch before did not have, and in each one of the first batch. There is nothing for that
        batch if its begin is another.
        """
        if batch == 0 and not self._from_begin:
            return {}
        if self._newest is None or self._newest[0] != batch:
            known = self._newest is not None and self._newest[0] == batch - 1
            begins = self._newest[1] if self._newest is not None and known else self.offsets(batch - 1) if batch else {}
            self._newest = batch, self.offsets(batch), begins
        _, ends, begins = self._newest
        found = {place: (begins.get(place), end) for place, end in ends.items()}
        return {place: (begin, end) for place, (begin, end) in found.items() if begin != end}

    def counts(self, batch: int) -> dict[str, int]:
        """The number of offsets of each topic in ``batch``; nothing for the first batch if :meth:`ranges` does not know its begin.

        A topic has at most so many records there: some offsets have none.
        """
        found: Counter[str] = Counter()
        for (topic, _), (begin, end) in self.ranges(batch).items():
            found[topic] += end - (begin or 0)
        return {topic: count for topic, count in found.items() if count}

    def _offsets(self, batch: int, remedy: str) -> dict[tuple[str, int], int]:
        path = f"{self.stream}/offsets/{batch}"
        try:
            # Spark's log has a line with its version, a line of metadata, and a line for each source. Kafka is the only source.
            topics: dict[str, dict[str, int]] = json.loads(self._read(path).splitlines()[2])
            return {(topic, int(number)): int(end) for topic, parts in topics.items() for number, end in parts.items()}
        except (ValueError, IndexError, AttributeError, TypeError):
            raise JobError(UNREADABLE, f"The checkpoint's file {path} is damaged. {remedy}") from None

    def finished(self) -> int | None:
        """The last batch that the stream recorded as done; None if there is none. Spark repeats later batches."""
        return max(self._numbers("commits"), default=None)

    def _numbers(self, log: str) -> list[int]:
        """The numbers of the batches in one of the stream's logs."""
        return [int(name) for name in self._names_of(f"{self.stream}/{log}") if name.isdigit()]

    def identity(self) -> str:
        """A name that no other checkpoint has."""
        path = f"{self._folder}/identity"
        if not self._exists(path):
            self._write(path, uuid.uuid4().hex)
        return self._read(path)

    def after(self, turn: int, state: State) -> None:
        """Store the state after ``turn``, and delete documents and data that no batch can need again."""
        self._write(self._document(turn), json.dumps({"form": FORM, **asdict(state)}))
        kept = (turn // TURNS - KEPT_BATCHES + 1) * TURNS
        for number in self._turns():
            if number < kept:
                self._delete(self._document(number))
        needed = {number for number, _ in state.waiting} | {number for topic in state.topics.values() for number, _ in topic.moved}
        for name in self._names("ahead"):
            number = int(name.partition("-")[0])
            if number < kept and number not in needed:
                self._delete(f"{self._folder}/ahead/{name}")

    def note_new(self, turn: int, tables: Mapping[str, bool]) -> None:
        """Store, before ``turn`` fills its new tables: table → whether its existing rows are replaced."""
        self._write(f"{self._folder}/new.json", json.dumps({"turn": turn, "tables": dict(tables)}))

    def noted_new(self, turn: int) -> dict[str, bool]:
        """What :meth:`note_new` stored before a crash in ``turn``; empty otherwise."""
        path = f"{self._folder}/new.json"
        try:
            document: Any = json.loads(self._read(path)) if self._exists(path) else {"turn": None}
            return {str(name): bool(replaced) for name, replaced in document["tables"].items()} if document["turn"] == turn else {}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise JobError(UNREADABLE, f"The checkpoint's file {path} is damaged. {_START_AGAIN}") from None

    def ahead(self, turn: int, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """The result of ``make``, stored under ``name``. A repetition of ``turn`` reads it instead of calling ``make`` again."""
        path = self._ahead(turn, name)
        if not self._exists(f"{path}/{_SCHEMA}"):
            made = make()
            made.write.mode("overwrite").parquet(path)
            # The schema is written last: its file shows that the data is complete. It also spares Spark the reading of the files' footers.
            self._write(f"{path}/{_SCHEMA}", made.schema.json())
        return self.made([turn], name)[0]

    def made(self, turns: Sequence[int], name: str) -> list[DataFrame]:
        """The data that :meth:`ahead` stored under ``name`` for ``turns``: one DataFrame for each schema."""
        paths: dict[str, list[str]] = {}
        for turn in turns:
            path = self._ahead(turn, name)
            paths.setdefault(self._read(f"{path}/{_SCHEMA}"), []).append(path)
        return [self._spark.read.schema(StructType.fromJson(json.loads(schema))).parquet(*of) for schema, of in paths.items()]

    def _ahead(self, turn: int, name: str) -> str:
        return f"{self._folder}/ahead/{turn}-{name}"

    def _document(self, turn: int) -> str:
        return f"{self._folder}/state/{turn}.json"

    def _turns(self) -> list[int]:
        return [int(name.removesuffix(".json")) for name in self._names("state") if name.endswith(".json")]

    # --- files on Hadoop's file systems

    def listed(self, folder: str) -> list[str]:
        """The names in a folder; empty if there is no such folder."""
        return self._names_of(folder)

    def remove(self, path: str) -> None:
        """Delete a file or a folder."""
        self._delete(path)

    @cached_property
    def _hadoop(self) -> tuple[Any, Any]:
        """Hadoop's class of paths, for which PySpark asks Java by each part of its name, and Hadoop's configuration."""
        context: Any = self._spark.sparkContext
        # PySpark has no other way to the file systems that it writes to.
        return context._jvm.org.apache.hadoop.fs.Path, context._jsc.hadoopConfiguration()  # noqa: SLF001 - as said

    def _system(self, path: str) -> tuple[Any, Any]:
        kind, configuration = self._hadoop
        at = kind(path)
        return at.getFileSystem(configuration), at

    def _exists(self, path: str) -> bool:
        system, at = self._system(path)
        return bool(system.exists(at))

    def _names(self, folder: str) -> list[str]:
        return self._names_of(f"{self._folder}/{folder}")

    def _names_of(self, folder: str) -> list[str]:
        system, at = self._system(folder)
        return [str(status.getPath().getName()) for status in system.listStatus(at)] if system.exists(at) else []

    def _read(self, path: str) -> str:
        with _job_errors(path, "read"):
            system, at = self._system(path)
            stream = system.open(at)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

    def _write(self, path: str, text: str) -> None:
        """Write the file completely or not at all: it gets its name after it is written."""
        with _job_errors(path, "written"):
            system, at = self._system(path)
            _, aside = self._system(path + ".new")
            stream = system.create(aside, True)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()
            system.delete(at, False)
            if not system.rename(aside, at):
                raise JobError(
                    UNREADABLE, f"The checkpoint's file {path}.new could not be renamed to {path}. Check the folder and its rights."
                )

    def _delete(self, path: str) -> None:
        system, at = self._system(path)
        system.delete(at, True)


@contextmanager
def _job_errors(path: str, what: str) -> Iterator[None]:
    """Convert Java's exceptions to a JobError with the path."""
    try:
        yield
    except Py4JJavaError as error:
        name = error.java_exception.getClass().getSimpleName()
        raise JobError(UNREADABLE, f"The checkpoint's file {path} could not be {what} ({name}). Check the folder and its rights.") from None


def _state(document: Mapping[str, Any]) -> State:
    topics = {
        name: TopicState(
            None if topic["table"] is None else tuple(topic["table"]),
            tuple(_known(known) for known in topic["layouts"]),
            tuple(Truncate(**truncate) for truncate in topic["truncates"]),
            tuple((batch, layout) for batch, layout in topic["moved"]),
            None if topic["followed"] is None else tuple(topic["followed"]),
            tuple((move, batch) for move, batch in topic["awaited"]),
            # Older documents do not have these.
            topic.get("kept"),
            topic.get("aside"),
        )
        for name, topic in document["topics"].items()
    }
    waiting = tuple((turn, name) for turn, name in document["waiting"])
    later = document["later"]
    unread = tuple(Unread(**layout) for layout in document["unread"])
    later = None if later is None else (later[0], later[1])
    return State(
        topics,
        waiting,
        later,
        document["applied"],
        unread,
        # Older documents do not have these, or have the first under another name.
        tuple(document.get("replacing", document.get("anew", ()))),
        tuple(document.get("rebuilding", ())),
        document.get("applied_ms", 0),
        tuple(Reached(**one) for one in document.get("reached", ())),
        document.get("lacking"),
        document.get("lacking_ms", 0),
    )


def _known(known: Mapping[str, Any]) -> Known:
    filled = tuple((name, text) for name, text in known.get("filled", ()))
    return Known(**{**known, "newest": tuple(known["newest"]), "filled": filled})
