"""A sink whose tables follow the rules of the configuration (:mod:`workers.spark.tables.rules`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.failure import TableError
from workers.spark.tables.rules import DELETED, DELETED_AT, Rules, TableRule
from workers.spark.tables.table import DELETE, LSN, UPSERT, Effects, Sink, Table

AT: Final = "at"
"""The column of effects with the time of a delete's commit, if the table has soft deletes."""


class RuledSink:
    """Applies effects to ``sink`` by the rules: it selects and masks columns, marks deleted rows, and chooses the tables' names.

    ``say`` is called once for each column that a rule names and none of its tables has. ``known`` are the tables of earlier batches,
    and ``filled`` those of them that have rows in ``sink``: another table with the same route is refused.
    """

    def __init__(
        self,
        sink: Sink,
        rules: Rules,
        say: Callable[[str], None] = lambda _: None,
        known: Sequence[Table] = (),
        filled: Sequence[Table] = (),
    ) -> None:
        self._sink = sink
        self._rules = rules
        self._sources = {routed(rules, table).full_name: table.full_name for table in reversed(filled)}
        self._say = say
        self._tables = {table.full_name: table for table in known}
        self._said: set[tuple[str, str]] = set()
        self._tell()

    def apply(self, batch: int, effects: Sequence[Effects]) -> None:
        """See :class:`workers.spark.tables.table.Sink`. A TableError names the source's table."""
        ruled = [self._ruled(one) for one in effects]
        if any(_names(one.table) != _names(self._tables.get(one.table.full_name)) for one in effects):
            self._tables |= {one.table.full_name: one.table for one in effects}
            self._tell()
        try:
            self._sink.apply(batch, ruled)
        except TableError as error:
            sources = {one.table.full_name: of.table.full_name for one, of in zip(ruled, effects, strict=True)}
            raise TableError(sources.get(error.table, error.table), str(error)) from None

    def read(self, table: Table, session: SparkSession | None = None) -> DataFrame | None:
        """The rows that the source has, in those columns of the source that are not masked, and the mirror's own columns."""
        rule, target = self._rules.of(table), routed(self._rules, table)
        if self._sources.get(target.full_name, table.full_name) != table.full_name:
            # The rows are another table's; :meth:`apply` refuses this one.
            return None
        found = self._sink.read(target, session)
        if found is None or not rule.changes_rows:
            return found
        if DELETED in found.columns and rule.soft_delete:
            found = found.where(~F.coalesce(DELETED, F.lit(False))).drop(DELETED, DELETED_AT)
        return found.drop(*rule.mask)

    def _ruled(self, effects: Effects) -> Effects:
        rule, table = self._rules.of(effects.table), effects.table
        since = (*(() if effects.former is None else (effects.former,)), *effects.path)
        rule.check_hidden(effects.forms or since, first=effects.former is None)
        shape = rule.shape(table)
        self._check_route(shape.full_name, table.full_name)
        former = None if effects.former is None else rule.shape(effects.former)
        shaped = replace(effects, table=shape, passed=tuple(rule.shape(one) for one in effects.passed), former=former)
        return shaped if not rule.changes_rows else shaped.with_rows(_rows(effects, rule, shape))

    def _tell(self) -> None:
        for name, message in self._rules.unmatched(list(self._tables.values())).items():
            if name not in self._said:
                self._said.add(name)
                self._say(message)

    def _check_route(self, target: str, source: str) -> None:
        other = self._sources.setdefault(target, source)
        if other != source:
            raise TableError(source, f"route leads both {other} and {source} to {target}. Use ${{schema}} and ${{table}} in it.")


def _names(table: Table | None) -> tuple[str, ...] | None:
    return None if table is None else tuple(column.name for column in table.columns)


def routed(rules: Rules, table: Table) -> Table:
    """The table under the name that it has in the sink, with its partitions."""
    rule = rules.of(table)
    schema, name = rule.names(table)
    return replace(table, schema=schema, name=name, partition_by=rule.partition_by)


def _rows(effects: Effects, rule: TableRule, shape: Table) -> DataFrame:
    """The rows of the effects in the columns of ``shape``."""
    key, row, kept = F.col("key"), F.col("row"), F.col("kept")
    names = [column.name for column in effects.table.columns if rule.wants(effects.table, column.name)]
    gone = F.col("op") == DELETE
    values = [_masked(row.getField(name), rule, name).alias(name) for name in names]
    keys = [_masked(key.getField(name), rule, name).alias(name) for name in effects.table.key]
    kept = F.array_intersect(kept, F.array(*(F.lit(name) for name in names)).cast("array<string>"))
    new_row, op = F.when(row.isNotNull(), F.struct(*values)), F.col("op")
    if rule.soft_delete:
        own = [F.lit(False).alias(DELETED), F.lit(None).cast("timestamp").alias(DELETED_AT)]
        at = F.col(AT) if AT in effects.rows.columns else F.lit(None).cast("timestamp")
        marked = [gone.alias(DELETED), F.when(gone, at).alias(DELETED_AT)]
        known = {column.name: column.kind.type for column in shape.columns}
        in_key = {name: _masked(key.getField(name), rule, name) for name in effects.table.key}
        # A deleted row keeps its last values: those that the batch has, else those in the table.
        last = [
            (in_key[name] if name in in_key else _masked(row.getField(name), rule, name)).cast(known[name]).alias(name) for name in names
        ]
        rest = F.array(*(F.lit(name) for name in names if name not in in_key)).cast("array<string>")
        kept = F.when(gone & row.isNull(), rest).otherwise(kept)
        # A tombstone alone does not have the time and the LSN: those of the delete before it stay.
        kept = F.when(gone & at.isNull(), F.array_append(kept, F.lit(DELETED_AT))).otherwise(kept)
        kept = F.when(gone & F.col("lsn").isNull(), F.array_append(kept, F.lit(LSN))).otherwise(kept)
        new_row = F.when(gone, F.struct(*marked, *last)).otherwise(F.struct(*own, *values))
        op = F.lit(UPSERT)
    new_key = key if not effects.table.key else F.struct(*keys)
    return effects.rows.select(op.alias("op"), new_key.alias("key"), new_row.alias("row"), kept.alias("kept"), "lsn")


def _masked(value: SparkColumn, rule: TableRule, name: str) -> SparkColumn:
    kind, _, text = rule.mask.get(name, "").partition(":")
    match kind:
        case "hash":
            return F.sha2(F.concat(F.lit(rule.salt), value.cast("string")), 256)
        case "null":
            return F.when(F.lit(False), value)
        case "constant":
            return F.when(value.isNotNull(), F.lit(text))
        case "truncate":
            return F.substring(value, 1, int(text))
        case _:
            return value
