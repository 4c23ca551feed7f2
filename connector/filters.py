"""Which schemas, tables and columns are captured (Debezium documentation, properties ``*.include.list``/``*.exclude.list``).

Lists hold regular expressions, separated by commas, that must match the whole name without regard to case: ``schema``,
``schema.table``, ``schema.table.column``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from connector.errors import CdcError, ErrorKind

_SPLIT: Final = re.compile(r"(?<!\\),")
_INTERSECTION: Final = re.compile(r"\[[^\]]*&&")
_QUOTED: Final = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)

Matcher = Callable[[str], bool]

BUILTIN_SCHEMAS: Final = ("pg_catalog", "information_schema")


def split_patterns(text: str) -> list[str]:
    r"""The entries of a list; ``\,`` is a comma inside an entry, blanks around entries do not count."""
    return [entry.strip().replace("\\,", ",") for entry in _SPLIT.split(text) if entry.strip()]


def compile_pattern(pattern: str, key: str, *, ignore_case: bool = True) -> re.Pattern[str]:
    """A Java-style regular expression for whole names. CdcError(CONFIG_INVALID) names ``key`` and the fault."""
    if _INTERSECTION.search(pattern):
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Property {key} holds {pattern!r}: an intersection of character classes (&&) would mean something else here",
            "Write the class out, for instance [ac-z] for [a-z&&[^b]]",
        )
    translated = _QUOTED.sub(lambda m: re.escape(m.group(1)), pattern)
    try:
        # Java's classes and its matching without case know ASCII alone, unless they are asked for more.
        return re.compile(translated, re.ASCII | (re.IGNORECASE if ignore_case else re.ASCII))
    except re.error as error:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Property {key} holds {pattern!r}, which is no regular expression: {error.msg}",
            "Escape the character meant literally with a backslash",
        ) from error


def matcher(patterns: Iterable[str], key: str) -> Matcher:
    """True for a name that any of ``patterns`` matches as a whole. Answers are remembered: names are few."""
    compiled = [compile_pattern(pattern, key) for pattern in patterns]
    known: dict[str, bool] = {}

    def matches(name: str) -> bool:
        found = known.get(name)
        if found is None:
            found = known[name] = any(regex.fullmatch(name) for regex in compiled)
        return found

    return matches


def _include_exclude(include: Iterable[str], exclude: Iterable[str], key: str) -> Matcher:
    include, exclude = tuple(include), tuple(exclude)
    if include:
        return matcher(include, f"{key}.include.list")
    if exclude:
        excluded = matcher(exclude, f"{key}.exclude.list")
        return lambda name: not excluded(name)
    return lambda _name: True


class TableFilter:
    """Decides by the connector's schema and table lists. Built once per task."""

    def __init__(
        self,
        *,
        schema_include: Iterable[str] = (),
        schema_exclude: Iterable[str] = (),
        table_include: Iterable[str] = (),
        table_exclude: Iterable[str] = (),
        ignore_builtin: bool = True,
    ) -> None:
        self._schema = _include_exclude(schema_include, schema_exclude, "schema")
        self._table = _include_exclude(table_include, table_exclude, "table")
        self._ignore_builtin = ignore_builtin

    def captures(self, schema: str, table: str) -> bool:
        """Whether changes of the table are sent."""
        if self._ignore_builtin and (schema in BUILTIN_SCHEMAS or schema.startswith(("pg_temp", "pg_toast")) or table == "spatial_ref_sys"):
            return False
        return self._schema(schema) and self._table(f"{schema}.{table}")


class ColumnFilter:
    """Decides which columns of a captured table appear in values; keys hold excluded columns all the same."""

    def __init__(self, *, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
        self._column = _include_exclude(include, exclude, "column")

    def includes(self, schema: str, table: str, column: str) -> bool:
        """Whether the column is part of ``before`` and ``after``."""
        return self._column(f"{schema}.{table}.{column}")
