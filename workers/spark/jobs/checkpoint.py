"""What a mirror remembers from batch to batch, beside the stream's own checkpoint, on any file system that Spark knows.

One document a *turn*, written when it is in the tables: the next turn begins with it. A batch has one turn, and one more for every time
that a table's key became another one in it (:mod:`workers.spark.topics.turns`); a turn that is repeated after a crash begins with the same
document. What must be known before the tables change is written ahead (:meth:`Checkpoint.ahead`) and read again instead of being made
again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.known import Known, TopicState, Truncate, Unread

_SCHEMA: Final = "_schema.json"
"""Beside the files of a table that is written ahead. Spark passes over names that begin like this."""
FORM: Final = 2
"""Of the documents: another one is refused."""
KEPT_BATCHES: Final = 3
"""Batches whose documents are kept; the stream goes back by one batch at most."""
_START_AGAIN: Final = (
    "Restore it from a backup. Without one, name a new folder in checkpoint and start with --rebuild for each table: the topics are read"
    " from their start, and the tables' rows are replaced."
)
TURNS: Final = 1000
"""Turns are numbered through: the first one of a batch by the batch's number times this."""


@dataclass(frozen=True, slots=True)
class State:
    """What a turn begins with, all topics by name.

    ``waiting`` names the records (turn and name, as they were written ahead) that are to be read with the next batch, ``later`` those of
    the next turn of the same batch (None: it has no more); ``applied`` is the LSN of the last transaction in the tables, where whole
    ones are applied.
    """

    topics: Mapping[str, TopicState] = field(default_factory=dict)
    waiting: tuple[tuple[int, str], ...] = ()
    later: tuple[int, str] | None = None
    applied: int = 0
    unread: tuple[Unread, ...] = ()
    anew: tuple[str, ...] = ()
    """Topics whose next changes replace all rows of their tables."""
    rebuilding: tuple[str, ...] = ()
    """Topics whose rebuild (:mod:`workers.spark.jobs.rebuild`) is under way: it begins again before any other batch."""


class Checkpoint:
    """The documents below ``folder`` (a Hadoop path: local, HDFS, object store)."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/") + "/understudy"

    @property
    def stream(self) -> str:
        """Where the stream keeps its own."""
        return self._folder.removesuffix("/understudy") + "/stream"

    @property
    def folder(self) -> str:
        """Its folder, as the configuration names it."""
        return self._folder.removesuffix("/understudy")

    def check(self) -> None:
        """Return when what the next batch begins with can be read. Raises JobError that names the damaged file, and the remedy."""
        self.last()
        done = self.finished()
        # The stream reads what it last did, and what it planned after that.
        for batch in sorted(number for number in self._numbers("offsets") if done is None or number >= done):
            planned_again = (done is None or batch > done) and self.last_turn() < batch * TURNS
            self._offsets(batch, "Remove it: its batch has changed nothing yet and is planned again." if planned_again else _START_AGAIN)
        if done is not None and not self._read(f"{self.stream}/commits/{done}").strip():
            raise JobError(UNREADABLE, f"The checkpoint's file {self.stream}/commits/{done} is damaged. {_START_AGAIN}")

    def last_turn(self) -> int:
        """The number of the last turn that is in the tables, -1 for none."""
        return max(self._turns(), default=-1)

    def begin(self, batch: int) -> tuple[int, State]:
        """The number of the turn that ``batch`` begins with, or goes on with after a crash, and the state before it.

        Raises JobError when the state is of another form.
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
        mend = "Remove it and the tables, and let the mirror begin anew."
        raise JobError(UNREADABLE, f"The checkpoint {self.folder} is another version's. {mend}")

    def offsets(self, batch: int | None = None) -> dict[tuple[str, int], int]:
        """Up to where ``batch`` reads each topic partition; without one up to where the tables are, by the last finished batch."""
        batch = self.finished() if batch is None else batch
        return {} if batch is None else self._offsets(batch, _START_AGAIN)

    def _offsets(self, batch: int, remedy: str) -> dict[tuple[str, int], int]:
        path = f"{self.stream}/offsets/{batch}"
        try:
            # Spark's log: a version, the batch's metadata, then one line for each source (here Kafka's alone).
            topics: dict[str, dict[str, int]] = json.loads(self._read(path).splitlines()[2])
            return {(topic, int(number)): int(end) for topic, parts in topics.items() for number, end in parts.items()}
        except (ValueError, IndexError, AttributeError, TypeError):
            raise JobError(UNREADABLE, f"The checkpoint's file {path} is damaged. {remedy}") from None

    def finished(self) -> int | None:
        """The last batch that the stream has noted as done; None when there is none. What is behind it is begun again."""
        return max(self._numbers("commits"), default=None)

    def _numbers(self, log: str) -> list[int]:
        """The batches in one of the stream's logs."""
        return [int(name) for name in self._names_of(f"{self.stream}/{log}") if name.isdigit()]

    def identity(self) -> str:
        """A name that no other checkpoint has."""
        path = f"{self._folder}/identity"
        if not self._exists(path):
            self._write(path, uuid.uuid4().hex)
        return self._read(path)

    def after(self, turn: int, state: State) -> None:
        """Remember the state at the end of ``turn``, and forget what no batch can need again."""
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
        """Remember, before ``turn`` fills them, which tables are new in it, and which of those replace the rows that are there."""
        self._write(f"{self._folder}/new.json", json.dumps({"turn": turn, "tables": dict(tables)}))

    def noted_new(self, turn: int) -> dict[str, bool]:
        """What :meth:`note_new` remembers for ``turn``, which a crash has ended."""
        path = f"{self._folder}/new.json"
        try:
            document: Any = json.loads(self._read(path)) if self._exists(path) else {"turn": None}
            return {str(name): bool(replaced) for name, replaced in document["tables"].items()} if document["turn"] == turn else {}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise JobError(UNREADABLE, f"The checkpoint's file {path} is damaged. {_START_AGAIN}") from None

    def ahead(self, turn: int, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """What ``make`` gives, made once for ``turn`` whatever happens to it afterwards."""
        path = self._ahead(turn, name)
        if not self._exists(f"{path}/{_SCHEMA}"):
            made = make()
            made.write.mode("overwrite").parquet(path)
            # Last, so that it says that all is there. With it Spark need not look into the files for what they hold.
            self._write(f"{path}/{_SCHEMA}", made.schema.json())
        return self.made([turn], name)[0]

    def made(self, turns: Sequence[int], name: str) -> list[DataFrame]:
        """What :meth:`ahead` kept for ``turns``, those of one schema together."""
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
        with _told(path, "read"):
            system, at = self._system(path)
            stream = system.open(at)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

    def _write(self, path: str, text: str) -> None:
        """Whole or not at all: under another name first."""
        with _told(path, "written"):
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


@contextmanager
def _told(path: str, what: str) -> Iterator[None]:
    """Java's failures as a sentence with the path."""
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
        topics, waiting, later, document["applied"], unread, tuple(document.get("anew", ())), tuple(document.get("rebuilding", ()))
    )


def _known(known: Mapping[str, Any]) -> Known:
    filled = tuple((name, text) for name, text in known.get("filled", ()))
    return Known(**{**known, "newest": tuple(known["newest"]), "filled": filled})
