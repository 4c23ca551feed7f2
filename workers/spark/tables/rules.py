"""Rules for single tables of a mirror: ``[[table]]`` in the configuration. Pure.

Each table follows the first rule whose expression matches its name (``schema.table``) as a whole, or none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType, StringType

from workers.spark.failure import WRONG, JobError, TableError
from workers.spark.tables.partitions import partition_of
from workers.spark.tables.table import Column, Table
from workers.spark.types import kind_of

DELETED: Final = "__deleted"
DELETED_AT: Final = "__deleted_at"
"""The columns of a table with soft deletes: whether the source has deleted the row, and the time of that commit."""
SOFT: Final = (
    Column(DELETED, kind_of({"type": "boolean"}), default=False),
    Column(DELETED_AT, kind_of({"type": "string", "name": "io.debezium.time.ZonedTimestamp"})),
)
"""They come before the source's columns, whose order shows which of them were renamed."""
_TEXT: Final = kind_of({"type": "string"})
_MASK: Final = re.compile(r"hash|null|constant:(?P<text>.*)|truncate:(?P<length>[1-9]\d{0,5})", re.DOTALL)
_HASHED: Final = (StringType, ByteType, ShortType, IntegerType, LongType)
_ESCAPE: Final = re.compile(r"\\(.)")
_NAMED: Final = 5
"""The most tables that a message names."""
_PLACEHOLDER: Final = re.compile(r"\$\{(\w*)\}")


@dataclass(frozen=True, slots=True)
class TableRule:
    """One ``[[table]]``."""

    match: str
    """A regular expression for whole names ``schema.table``."""
    soft_delete: bool = False
    """Deletes mark rows instead of removing them."""
    columns: tuple[str, ...] | None = None
    """The columns of the mirror, besides those of the key; None for all."""
    exclude_columns: tuple[str, ...] = ()
    mask: Mapping[str, str] = field(default_factory=dict)
    """Column → ``hash``, ``null``, ``constant:TEXT`` or ``truncate:CHARACTERS``."""
    salt: str | None = None
    """The secret that precedes each hashed value."""
    route: str | None = None
    """The mirror's name, ``schema.table``, in which ``${schema}`` and ``${table}`` stand for the source's."""
    partition_by: tuple[str, ...] = ()
    """The columns by which the mirror's files are divided; for Iceberg also transforms of columns."""

    @property
    def changes_rows(self) -> bool:
        """Whether the mirror's rows differ from the source's."""
        return self.soft_delete or self.columns is not None or bool(self.exclude_columns) or bool(self.mask)

    def names(self, table: Table) -> tuple[str, str]:
        """The schema and the name of the mirror of ``table``."""
        if self.route is None:
            return table.schema, table.name
        schema, name = self.route.split(".")
        known = {"schema": table.schema, "table": table.name}
        return tuple(_PLACEHOLDER.sub(lambda found: known[found[1]], part) for part in (schema, name))  # type: ignore[return-value]

    def wants(self, table: Table, name: str) -> bool:
        """Whether the mirror has this column of the source."""
        chosen = self.columns is None or name in self.columns or name in table.key
        return chosen and name not in self.exclude_columns

    def shape(self, table: Table) -> Table:
        """The mirror of ``table``. Raises TableError when a rule does not fit the table's key or the type of a column."""
        self._check(table)
        schema, name = self.names(table)
        columns = tuple(self._masked(column) for column in table.columns if self.wants(table, column.name))
        shown = (*(SOFT if self.soft_delete else ()), *columns)
        return replace(table, schema=schema, name=name, columns=shown, partition_by=self.partition_by)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns whose values the mirror must not show."""
        return (*self.mask, *self.exclude_columns)

    def is_of(self, table: Table) -> bool:
        """Whether the rule is for this table alone: ``match`` is its name, with or without escapes."""
        return _ESCAPE.sub(r"\1", self.match) == table.full_name

    def check_hidden(self, path: Sequence[Table], *, first: bool) -> None:
        """Raise TableError when values that the rule hides could be shown after the steps of ``path``, the table's forms, oldest first.

        A column that is renamed, as far as the events show it, is a hidden column that is missing and a new one that the rule does not
        name. ``first``: the mirror has no row of the table. A rule for this table alone must then fit it, because a name that no form has
        may be mistyped.
        """
        table = path[-1]
        for old, new in pairwise(path):
            there, later = {column.name for column in old.columns}, {column.name for column in new.columns}
            lost = [name for name in self.hidden if name in there - later]
            shown = [one.name for one in new.columns if one.name not in there and one.name not in self.mask and self.wants(new, one.name)]
            if lost and shown:
                raise TableError(
                    table.full_name,
                    f"{table.full_name} has lost {', '.join(lost)}, which its rule masks or leaves out, and has got {', '.join(shown)}, "
                    "which may be the new name. Name the new column in the rule too, or take the former one out of it.",
                )
        had = {column.name for form in path for column in form.columns}
        unknown = [name for name in self.hidden if name not in had]
        if first and unknown and self.is_of(table):
            raise TableError(
                table.full_name,
                f"The rule of {table.full_name} masks or leaves out {', '.join(unknown)}, which the table does not have. "
                "Correct the name, or take it out of the rule.",
            )

    def _masked(self, column: Column) -> Column:
        mask = self.mask.get(column.name)
        return column if mask is None or mask == "null" else replace(column, kind=_TEXT, default=None, filled=None)

    def _check(self, table: Table) -> None:
        for name in table.key:
            if name in self.exclude_columns:
                raise TableError(
                    table.full_name, f"exclude_columns names {name}, of the key of {table.full_name}. Leave it out, or hash it."
                )
            if self.mask.get(name, "hash") != "hash":
                said = f"mask {self.mask[name]!r} is for {name}, of the key of {table.full_name}. A column of the key can only be hashed."
                raise TableError(table.full_name, said)
        if self.soft_delete and not table.key:
            raise TableError(table.full_name, f"soft_delete is set, but {table.full_name} has no key, so that deletes identify no row.")
        for column in table.columns:
            mask = self.mask.get(column.name)
            allowed: tuple[type[DataType], ...] = _HASHED if mask == "hash" else (StringType,)
            if mask not in (None, "null") and not isinstance(column.kind.type, allowed):
                of = column.kind.type.simpleString()
                raise TableError(
                    table.full_name, f"mask {mask!r} is for {column.name} of {table.full_name}, whose type is {of}. Only null masks it."
                )
            if self.soft_delete and column.name in (DELETED, DELETED_AT):
                said = f"{table.full_name} has a column {column.name}, a name that soft_delete reserves. Exclude it, or keep deletes hard."
                raise TableError(table.full_name, said)


NO_RULE: Final = TableRule("")
"""The rule of tables that no rule matches."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a mirror, in their order."""

    rules: tuple[TableRule, ...] = ()

    def of(self, table: Table) -> TableRule:
        """The rule for a table."""
        return next((rule for rule in self.rules if re.fullmatch(rule.match, table.full_name)), NO_RULE)

    def unmatched(self, tables: Sequence[Table]) -> dict[tuple[str, str], str]:
        """(``match``, column) → the message about a column of a rule that none of the rule's tables has, if it has tables."""
        found: dict[tuple[str, str], str] = {}
        ruled = [(self.of(table), table) for table in tables]
        for rule in self.rules:
            mine = [table for its, table in ruled if its is rule]
            there = {column.name for table in mine for column in table.columns}
            for name in (*rule.hidden, *(rule.columns or ())) if mine else ():
                if name not in there:
                    does = "masks or leaves out" if name in rule.hidden else "selects"
                    found[rule.match, name] = (
                        f"[[table]] with match = {rule.match!r} {does} {name}, a column that none of its tables so far has: "
                        f"{', '.join(sorted(table.full_name for table in mine)[:_NAMED])}{' and others' if len(mine) > _NAMED else ''}. "
                        "Check the name."
                    )
        return found


NO_RULES: Final = Rules()


def check_rules(rules: Sequence[TableRule]) -> None:
    """Raise JobError that names the wrong key and the remedy."""
    for number, rule in enumerate(rules, 1):
        why = _wrong(rule)
        if why is not None:
            raise JobError(WRONG, f"[[table]] number {number} (match = {rule.match!r}): {why}")


def _wrong(rule: TableRule) -> str | None:
    try:
        re.compile(rule.match)
    except re.error as error:
        return f"match is no regular expression: {error}. Correct it."
    if rule == replace(NO_RULE, match=rule.match):
        return "it has no effect. Set one of soft_delete, columns, exclude_columns, mask, route, partition_by."
    if rule.columns is not None and rule.exclude_columns:
        return "columns and exclude_columns are both set. Remove one."
    for name, mask in rule.mask.items():
        if _MASK.fullmatch(mask) is None:
            return f"mask.{name} is {mask!r}. Use hash, null, constant:TEXT or truncate:CHARACTERS."
        if name in rule.exclude_columns or (rule.columns is not None and name not in rule.columns):
            return f"mask.{name} is set for a column that is left out. Remove it."
    if "hash" in rule.mask.values() and not rule.salt:
        return "mask has hash, but salt is missing. Set it to a long secret, such as ${env:SALT}: without it, values can be guessed."
    if rule.salt is not None and "hash" not in rule.mask.values():
        return "salt is set, but no mask is hash. Remove it."
    wrong = _wrong_partitions(rule)
    if wrong is not None:
        return wrong
    return None if rule.route is None else _wrong_route(rule.route)


def _wrong_partitions(rule: TableRule) -> str | None:
    seen = set()
    for text in rule.partition_by:
        try:
            column = partition_of(text).column
        except ValueError as error:
            return f"partition_by has {text!r}: {error}."
        if column in rule.exclude_columns:
            return f"partition_by names {column}, which is left out. Remove it."
        if column in seen:
            return f"partition_by names {column} twice. Remove one."
        seen.add(column)
    return None


def _wrong_route(route: str) -> str | None:
    unknown = [name for name in _PLACEHOLDER.findall(route) if name not in ("schema", "table")]
    if unknown:
        return f"route has ${{{unknown[0]}}}. Only ${{schema}} and ${{table}} are known."
    parts = _PLACEHOLDER.sub("x", route).split(".")
    return None if len(parts) == 2 and all(parts) else f"route is {route!r}. Write it as schema.table, such as lake.${{schema}}_${{table}}."
