"""Holds the rows of small tables in the process, and applies few rows to such a table without a Spark job.

A batch changes the held rows, which are then written as one file. One commit puts this file in place of the table's files, if these are
still those that the held rows come from. So every other commit is noticed: the rows are then forgotten, and the batch is applied by a
MERGE.

Spark's MERGE of a few rows takes about a second of CPU time, nearly all of it for planning and for reading the table's metadata with Spark.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, StructType

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.held_keys import HeldKeys
from workers.spark.sinks.incoming import own_columns, side_by_side
from workers.spark.tables.arrow_rows import ArrowRows
from workers.spark.tables.local_rows import (
    JavaRows,
    NotLocal,
    Projection,
    attributes_of,
    chosen,
    collected,
    effects_kind,
    key_text,
    keyable,
    listed,
    local_frame,
    local_rows,
    plain_texts,
)
from workers.spark.tables.names import quoted
from workers.spark.tables.table import LSN, POSITION, UPSERT, Effects, Table, shape_of

SMALL: Final = 256 * 1024
"""The most bytes of a small table's files."""
ROWS: Final = 5_000
"""The most rows of a small table. Each batch writes all of them."""
HELD: Final = 16 * 1024 * 1024
"""The most bytes of all held tables' files. In memory they take several times as much."""
GATHERED: Final = 32 * 1024 * 1024
"""The most bytes of a table's changes that a batch reduces to rows in the driver.

With 25,000 changes of pgbench's four tables in a batch, the MERGEs of its tellers and branches took 3.7 CPU-s of 9.5; this takes 0.3.
"""
CHANGES: Final = 30_000
"""The most changes that may leave as many rows in the driver. One core reads and writes these rows; a MERGE uses all."""
FAILURES: Final = (Py4JError, PySparkException, NotLocal, TypeError, ValueError, OSError, pa.ArrowException)
"""What a table that is not as expected, another version of the format, and a failed storage raise."""


class TableFiles(Protocol):
    """The files of a table as of its newest version, which is known when the object is made."""

    @property
    def size(self) -> int:
        """The bytes of the version's files."""

    def rows(self) -> DataFrame:
        """The version's rows."""

    def prepare(self) -> None:
        """Prepare what every file needs."""

    def replace(self, rows: Any, keys: Sequence[str], counts: Mapping[str, int]) -> bool:
        """Put a file of ``rows``, a Java list of ``InternalRow``, in place of all files of the version, in one commit.

        ``keys`` are the texts of the rows' keys (:func:`workers.spark.tables.local_rows.key_text`).
        ``counts`` are the numbers of inserted, updated and deleted rows. The commit's version is the object's version then.
        False: the table has another version, and nothing is changed.
        """


FewRows = JavaRows | ArrowRows
"""The rows of effects in the driver's memory."""


class Held(Protocol):
    """A table's rows as of the version of ``files``."""

    table: Table
    files: Any

    def __len__(self) -> int:
        """The number of rows."""

    def changed(self, effects: Effects, rows: FewRows) -> bool:
        """Apply the ``rows`` of the effects, and commit. False if that is not possible; the held rows are wrong then."""


@dataclass(slots=True)
class HeldInJava:
    """Rows in Java. ``keys`` are those of ``rows``, in the same order."""

    table: Table
    files: TableFiles
    rows: JavaRows
    keys: HeldKeys[str]
    incoming: Projection

    def __len__(self) -> int:
        return len(self.keys)

    def changed(self, effects: Effects, rows: FewRows) -> bool:
        """See :class:`Held`."""
        session = effects.session
        made = self.incoming.run(in_java(effects) if isinstance(rows, ArrowRows) else rows)
        changes = said(self.incoming.texts(made, 0))
        if any(kept != "0" for _, kept, _ in changes):
            return False
        tell(effects, sum(op == UPSERT for op, _, _ in changes), len(changes))
        places, counts = self.keys.changed([(op == UPSERT, key) for op, _, key in changes])
        if not counts.total():
            return True
        self.rows = chosen(session, [self.rows, self.incoming.columns(made, mirrored(self.table))], places)
        return self.files.replace(listed(session, self.rows), self.keys.keys, counts)


class SmallTables(ABC):
    """The small tables of a sink."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Held] = OrderedDict()
        self.unfit: Final[set[str]] = set()
        """The places of tables that are not changed by this class: they have many rows, or are not as its commits expect them."""
        self._crowded: Final[set[str]] = set()
        """The places of tables of which the last batch changes more than :data:`ROWS` rows."""
        self._fallbacks: Final = Fallbacks("The commit of rows")
        self._lock = threading.Lock()

    @abstractmethod
    def opened(self, session: SparkSession, table: Table, place: str) -> TableFiles | None:
        """The files of the table at ``place``.

        None if they have more than :data:`SMALL` bytes, or if a commit of one file in place of all others is not right for them.
        """

    def stored(self, of: DataType) -> DataType:
        """The type in which the format stores values of ``of``."""
        return of

    def left(
        self,
        effects: Sequence[Effects],
        place: Callable[[Table], str],
        size: Callable[[Effects], int | None],
        threads: int,
        otherwise: Callable[[Effects, str], bool] = lambda _effects, _place: False,
    ) -> Sequence[Effects]:
        """Apply the effects that are few rows of small tables, several at once. Return the others, which need a MERGE.

        ``place`` gives a table's place, ``size`` the bytes of its files, or None if that is not known. ``otherwise`` may apply the others:
        it is called with the effects and the table's place, and returns whether it has. Rows that a job has computed are in the driver
        afterwards.
        """
        computed: dict[int, JavaRows] = {}

        def attempt(one: Effects, name: str) -> bool:
            known = size(one)
            if (known or 0) <= SMALL and self.applied(one, name, computed, small=known is not None):
                return True
            self.forget([name])
            return otherwise(_in_driver(one, computed), name)

        rest = not_applied(effects, place, attempt, threads)
        self.forget([place(one.table) for one in rest])
        return [_in_driver(one, computed) for one in rest]

    def applied(self, effects: Effects, path: str, computed: dict[int, JavaRows], *, small: bool) -> bool:
        """Apply the effects to the table at ``path`` if they and the table are small. False: nothing of them is applied.

        Rows that are not in the driver yet are computed by a Spark job if the table is known to be ``small``. If these are all rows of the
        effects, they are added to ``computed``.

        If the storage fails after the commit, False is returned too. Applying the effects again leaves the same table.
        """
        if not simple(effects) or path in self.unfit:
            return False
        self._crowded.discard(path)
        with self._lock:
            held = self._kept.pop(path, None)
        try:
            rows = effects.arrow if effects.arrow is not None else local_rows(effects.rows)
            if rows is None and (held is not None or small):
                rows = _gathered(effects)
                if rows is not None and effects.changes <= CHANGES:
                    computed[id(effects)] = rows
            if rows is None:
                return False
            if (len(rows) if isinstance(rows, ArrowRows) else rows.size()) > ROWS:
                self._crowded.add(path)
                if held is not None:
                    self.gave_up(path, held.files)
                return False
            if held is None or shape_of(held.table) != shape_of(effects.table):
                held = self.loaded(effects, path)
            if held is None or not held.changed(effects, rows):
                return False
        except FAILURES as error:
            self._fallbacks.report(effects.table.full_name, error)
            return False
        with self._lock:
            if held.files.size <= SMALL and len(held) <= ROWS:
                self._kept[path] = held
            else:
                self.outgrown(path, held.files)
            while sum(one.files.size for one in self._kept.values()) > HELD:
                self._kept.popitem(last=False)
        return True

    def leaves(self, path: str) -> bool:
        """Whether the table at ``path`` is changed in another way, although its files may be small."""
        return path in self.unfit or path in self._crowded

    def outgrown(self, path: str, files: TableFiles) -> None:
        """Called with the newest files of a table that was held until a batch made it too large."""
        self.gave_up(path, files)

    def gave_up(self, path: str, files: TableFiles) -> None:  # noqa: B027 - most sinks do not need them
        """Called with the newest files of a table that was held until it, or a batch for it, had too many rows."""

    def forget(self, paths: Collection[str]) -> None:
        """Forget the rows of tables that are about to be changed in another way."""
        with self._lock:
            for path in paths:
                self._kept.pop(path, None)

    def loaded(self, effects: Effects, place: str) -> Held | None:
        """The present rows of the effects' table; None if it is not small, or is not as the commits expect it."""
        files = self.opened(effects.session, effects.table, place)
        if files is None:
            return None
        files.prepare()
        return self.in_java(effects.session, effects.table, files, place)

    def in_java(self, session: SparkSession, table: Table, files: TableFiles, place: str) -> Held | None:
        """The rows of ``files``, in Java. None as above."""
        there = files.rows()
        rows = collected(there)
        if self.has_too_many(rows.size(), place):
            return None
        projection = Projection(session, there.schema, lambda frame: frame.select(_key(table, lambda name: F.col(quoted(name)))))
        keys = projection.texts(projection.run(rows), 0)
        if len({*keys}) < len(keys):
            return None
        incoming = Projection(session, effects_kind(table), lambda frame: described(frame, table, self.stored))
        return HeldInJava(table, files, rows, HeldKeys(keys), incoming)

    def has_too_many(self, rows: int, place: str) -> bool:
        """Whether so many rows are too many for the table at ``place``, which is then changed in another way from now on."""
        if rows > ROWS:
            self.unfit.add(place)
        return rows > ROWS

    def same_columns(self, there: StructType, table: Table) -> bool:
        """See :func:`same_columns`."""
        return same_columns(there, table, self.stored)


def not_applied(
    effects: Sequence[Effects], place: Callable[[Table], str], attempt: Callable[[Effects, str], bool], threads: int
) -> Sequence[Effects]:
    """Call ``attempt`` for each of the effects and its table's place, several at once. Return those for which it is false.

    If it is false for some effects, the later ones on the same table are returned too. Several topics may fill one table, and their effects
    stay in order: a truncate of one removes older rows of all.
    """
    applied: list[Effects] = []
    refused: set[str] = set()

    def work(one: Effects) -> None:
        name = place(one.table)
        if name not in refused and attempt(one, name):
            applied.append(one)
        else:
            refused.add(name)

    side_by_side(work, effects, threads)
    return without(effects, applied)


def without(effects: Sequence[Effects], others: Sequence[Effects]) -> Sequence[Effects]:
    """The effects that are not among the others. Effects are not compared, because that would compare DataFrames. Pure."""
    return [one for one in effects if not any(one is other for other in others)]


def simple(effects: Effects) -> bool:
    """Whether the effects are rows of a mirror that has the same columns as before, and nothing else. Pure.

    The place of a row of a table without a key identifies it as a key does.
    """
    # Columns that changed are the MERGE's: an equal name does not show that the column is the same.
    same = effects.former is None or shape_of(effects.former) == shape_of(effects.table)
    named = keyable(effects.table) or not effects.table.key
    return same and effects.known and effects.truncated is None and not effects.replaced and not effects.passed and named


def same_columns(there: StructType, table: Table, stored: Callable[[DataType], DataType]) -> bool:
    """Whether the mirror has the table's present columns, and no others. If not, the MERGE changes them first. Pure.

    ``stored`` gives the type in which the format stores values of a type.
    """
    wanted = {column.name: stored(column.kind.type) for column in table.columns} | own_columns(table)
    return [(field.name, field.dataType.simpleString()) for field in there.fields] == [
        (name, of.simpleString()) for name, of in wanted.items()
    ]


def described(effects: DataFrame, table: Table, stored: Callable[[DataType], DataType]) -> DataFrame:
    """A text for :func:`said`, then the columns of the mirror. ``stored``: as above."""
    key = _key(table, lambda name: F.col("key").getField(name))
    text = F.concat_ws(" ", "op", F.coalesce(F.size("kept"), F.lit(0)).cast("string"), key)
    columns = (
        _as(F.col("row").getField(column.name), column.kind.type, stored(column.kind.type)).alias(f"c{at}")
        for at, column in enumerate(table.columns)
    )
    own = [F.col("lsn").cast("bigint").alias(LSN), F.col("key").getField(POSITION).alias(POSITION)]
    return effects.select(text.alias("described"), *columns, *own[: len(own_columns(table))])


def said(texts: Iterable[str]) -> list[tuple[str, str, str]]:
    """What the texts of :func:`described` say of each row: the operation, the number of kept columns, and the key's text. Pure."""
    found = []
    for text in texts:
        op, kept, key = text.split(" ", 2)
        found.append((op, kept, key))
    return found


def mirrored(table: Table) -> range:
    """The places of the mirror's columns in what :func:`described` selects. Pure."""
    return range(1, 1 + len(table.columns) + len(own_columns(table)))


def tell(effects: Effects, upserts: int, rows: int) -> None:
    """Tell how many of the rows of the effects are new ones and how many are deletes, if that is wanted."""
    if effects.seen is not None:
        effects.seen(upserts, rows - upserts)


def in_java(effects: Effects) -> JavaRows:
    """The rows of effects that are in the driver, or that a job computes now."""
    rows = local_rows(effects.rows)
    return collected(effects.rows.to(effects_kind(effects.table))) if rows is None else rows


def _gathered(effects: Effects) -> JavaRows | None:
    """The rows of the effects, computed by one job; None if they may be too large.

    If there are more changes than :data:`CHANGES`, the rows are at most one more than :data:`ROWS`.
    """
    if effects.octets is None or effects.octets > GATHERED:
        return None
    rows = effects.rows.to(effects_kind(effects.table))
    return collected(rows if effects.changes <= CHANGES else rows.limit(ROWS + 1))


def _in_driver(effects: Effects, computed: Mapping[int, JavaRows]) -> Effects:
    rows, session = computed.get(id(effects)), effects.session
    if rows is None:
        return effects
    return effects.with_rows(local_frame(session, attributes_of(session, effects_kind(effects.table)), rows))


def _key(table: Table, value: Callable[[str], Column]) -> Column:
    if not table.key:
        return plain_texts([value(POSITION)]).alias("key")
    kinds = {column.name: column.kind.type for column in table.columns}
    return key_text([value(name) for name in table.key], [kinds[name] for name in table.key]).alias("key")


def _as(value: Column, of: DataType, stored: DataType) -> Column:
    return value if of == stored else value.cast(stored)
