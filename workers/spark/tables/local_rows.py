"""Rows in the driver's memory, and projections of them that are planned once and computed without a Spark job.

Spark plans each DataFrame separately, which takes longer than computing a few rows. Here a projection's plan is kept. Spark's own optimizer
computes it on rows that are known (``ConvertToLocalRelation``), so its results are the same as those of a job.

The rows are Java objects (``Seq[InternalRow]``). Python gets only the texts that it asks for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from workers.spark.tables.table import Effects, Table, keys_of, shape_of

JavaRows = Any
"""A Java ``Seq[InternalRow]``."""
_KEYS: Final = (IntegralType, StringType, BooleanType, DateType, TimestampType, TimestampNTZType, DecimalType, BinaryType)
"""The types of key columns whose texts are equal if, and only if, the values are. Zero has two signs as a floating point number."""
_SOURCES: Final = ("LogicalRDD", "ExternalRDD")


@dataclass(frozen=True, slots=True)
class _Classes:
    """Java's classes and functions. PySpark asks Java for each part of their names each time that they are used."""

    wrapped: Any
    listed: Any
    int_of: Any
    octets: Any
    to_java: Any
    relation: Any
    project: Any
    computed: Any
    dataset_of: Any
    activate: Any
    kind_of: Any
    none: Any


@lru_cache(maxsize=4)
def _classes(java: Any) -> _Classes:
    catalyst, scala = java.org.apache.spark.sql.catalyst, java.scala
    return _Classes(
        scala.collection.immutable.ArraySeq.unsafeWrapArray,
        java.java.util.ArrayList,
        java.int,
        java.java.nio.ByteBuffer.wrap,
        scala.jdk.javaapi.CollectionConverters.asJava,
        catalyst.plans.logical.LocalRelation,
        catalyst.plans.logical.Project,
        catalyst.optimizer.ConvertToLocalRelation.apply,
        java.org.apache.spark.sql.classic.Dataset.ofRows,
        java.org.apache.spark.sql.classic.SparkSession.setActiveSession,
        java.org.apache.spark.sql.types.DataType.fromJson,
        scala.Option.empty(),
    )


class NotLocal(Exception):  # noqa: N818 - a condition, which the caller handles
    """Spark's plan is not a chain of projections."""


def collected(frame: DataFrame) -> JavaRows:
    """The rows of ``frame``, computed by one job."""
    rows = frame._jdf.queryExecution().executedPlan().executeCollect()  # noqa: SLF001 - PySpark has no way to rows that stay in Java
    return _of(frame.sparkSession).wrapped(rows)


def local(frame: DataFrame) -> DataFrame:
    """``frame`` with its rows in the driver's memory, computed by one job."""
    return local_frame(frame.sparkSession, _output(frame), collected(frame))


def local_rows(frame: DataFrame) -> JavaRows | None:
    """The rows of a DataFrame that :func:`local_frame` made; None for others."""
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - the same
    return plan.data() if _name(plan) == "LocalRelation" else None


def local_frame(session: SparkSession, attributes: Any, rows: JavaRows) -> DataFrame:
    """A DataFrame of these rows, whose columns :func:`attributes_of` describes."""
    java = _of(session)
    relation = java.relation(attributes, rows, False, java.none)
    return DataFrame(java.dataset_of(_java(session), relation), session)


def attributes_of(session: SparkSession, of: StructType) -> Any:
    """The columns of a :func:`local_frame`."""
    return _output(template(session, of))


def gathered(session: SparkSession, parts: Iterable[JavaRows]) -> JavaRows:
    """The rows of all parts, in their order."""
    java = _of(session)
    found = java.listed()
    for part in parts:
        found.addAll(java.to_java(part))
    return sequence(session, found)


def chosen(session: SparkSession, parts: Iterable[JavaRows], places: Sequence[int]) -> JavaRows:
    """The rows at these places, counted through all parts, in this order.

    A call of Java for each row would take 0.2 ms, and several times as much while the cores are busy.
    """
    java = _of(session)
    numbers = session.sparkContext._gateway.new_array(java.int_of, len(places))  # noqa: SLF001 - PySpark has no other way to an array
    java.octets(struct.pack(f">{len(places)}i", *places)).asIntBuffer().get(numbers)
    # A sequence is a function from places to its items.
    return java.wrapped(numbers).map(gathered(session, parts))


def listed(session: SparkSession, rows: JavaRows) -> Any:
    """The rows as a Java list."""
    return _of(session).to_java(rows)


def effects_kind(table: Table) -> StructType:
    """The columns of the rows of :class:`workers.spark.tables.table.Effects`."""
    columns = {column.name: column.kind.type for column in table.columns}
    return StructType(
        [
            StructField("op", StringType()),
            StructField("key", StructType([StructField(name, columns.get(name, StringType())) for name in keys_of(table)])),
            StructField("row", StructType([StructField(name, of) for name, of in columns.items()])),
            StructField("kept", ArrayType(StringType())),
            StructField("lsn", LongType()),
        ]
    )


def keyable(table: Table) -> bool:
    """Whether :func:`key_text` knows the types of the table's key."""
    return bool(table.key) and all(isinstance(column.kind.type, _KEYS) for column in table.columns if column.name in table.key)


def key_text(values: Sequence[Column], kinds: Sequence[DataType]) -> Column:
    """A text that is equal for equal keys and differs for others: a JSON array of texts, or nulls. ``kinds``: of a :func:`keyable` table.

    The text of whole numbers needs no quoting. ``to_json`` makes a writer for each row: 5,000 rows took it 0.06 s more, before Java had
    compiled it.
    """
    if all(isinstance(of, IntegralType) for of in kinds):
        return plain_texts([value.cast("string") for value in values])
    texts = [F.hex(value) if isinstance(of, BinaryType) else value.cast("string") for value, of in zip(values, kinds, strict=True)]
    return joined_text(texts)


def sequence(session: SparkSession, items: Any) -> Any:
    """A Java list as a Scala ``Seq``, which does not change when the list does. Each place of it is found at once."""
    return _of(session).wrapped(items.toArray())


def template(session: SparkSession, of: StructType) -> DataFrame:
    """A DataFrame with these columns, from which projections are planned. It has no rows."""
    context, kind = session.sparkContext, _of(session).kind_of(of.json())
    return DataFrame(_java(session).createDataFrame(context._jsc.emptyRDD(), kind), session)  # noqa: SLF001 - no Python process for no rows


def joined_text(columns: Sequence[Column]) -> Column:
    """One text for the values of ``columns``, which must be texts: a JSON array, in one line."""
    return F.to_json(F.array(*columns))


def plain_texts(columns: Sequence[Column]) -> Column:
    """As :func:`joined_text`, of texts in which JSON quotes nothing."""
    texts = [F.coalesce(F.concat(F.lit('"'), column, F.lit('"')), F.lit("null")) for column in columns]
    return F.concat(F.lit("["), F.concat_ws(",", *texts), F.lit("]"))


class Projection:
    """``make`` of rows with the columns ``of``, planned once.

    Raises NotLocal when the plan of ``make`` does more than to compute columns row by row.
    """

    def __init__(self, session: SparkSession, of: StructType, make: Callable[[DataFrame], DataFrame]) -> None:
        self._session = session
        self._java = _of(session)
        # The optimizer replaces some functions by those that are computed. Only then are the expressions complete.
        plan: Any = make(template(session, of))._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - the plan is a Java object
        self.output: Any = plan.output()
        steps: list[tuple[Any, Any]] = []
        while _name(plan) == "Project":
            steps.append((plan.projectList(), plan.child().output()))
            plan = plan.child()
        if _name(plan) not in _SOURCES:
            raise NotLocal
        self._steps = steps[::-1]

    def run(self, rows: JavaRows) -> JavaRows:
        """The projection of ``rows``."""
        _activate(self._session)
        for wanted, known in self._steps:
            rows = self._computed(wanted, known, rows)
        return rows

    def texts(self, rows: JavaRows, at: int) -> list[str]:
        """The texts in one column of the projected ``rows``. They must have no line feed and must not be null."""
        if rows.isEmpty():
            return []
        _activate(self._session)
        wanted = self._java.listed()
        wanted.add(self.output.apply(at))
        found = self._computed(sequence(self._session, wanted), self.output, rows)
        # A row prints its values in brackets.
        return [line[1:-1] for line in str(found.mkString("\n")).split("\n")]

    def columns(self, rows: JavaRows, places: Sequence[int]) -> JavaRows:
        """The columns at these places of the projected ``rows``."""
        _activate(self._session)
        kept = self._java.listed()
        for place in places:
            kept.add(self.output.apply(place))
        return self._computed(sequence(self._session, kept), self.output, rows)

    def _computed(self, wanted: Any, known: Any, rows: JavaRows) -> JavaRows:
        relation = self._java.relation(known, rows, False, self._java.none)
        found = self._java.computed(self._java.project(wanted, relation))
        if _name(found) != "LocalRelation":
            raise NotLocal
        return found.data()


class Plans:
    """The projections ``make`` of effects, one for each table, which are kept while the table's columns and key stay as they are."""

    def __init__(self, make: Callable[[DataFrame, Table], DataFrame]) -> None:
        self._make = make
        self._known: dict[str, tuple[object, Projection]] = {}

    def plan(self, effects: Effects) -> Projection:
        """The projection of the effects' rows. Raises NotLocal as :class:`Projection`."""
        table = effects.table
        shape, plan = self._known.get(table.full_name, (None, None))
        if plan is None or shape != shape_of(table):
            plan = Projection(effects.session, effects_kind(table), lambda frame: self._make(frame, table))
            self._known[table.full_name] = shape_of(table), plan
        return plan


def _activate(session: SparkSession) -> None:
    """Expressions find their settings in the thread's active session."""
    _of(session).activate(_java(session))


def _output(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed().output()  # noqa: SLF001 - the plan is a Java object


def _name(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _of(session: SparkSession) -> _Classes:
    return _classes(session.sparkContext._jvm)  # noqa: SLF001 - the rows stay in Java


def _java(session: SparkSession) -> Any:
    return session._jsparkSession  # noqa: SLF001 - the same
