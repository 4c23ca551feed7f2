"""The twenty tables of the random workload: what identifies their rows, and columns of every type."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.support.spark.workload_values import EXTENSIONS, KINDS

Key = tuple[tuple[str, str, Callable[[int], str]], ...]
"""Columns of a key: name, type, and the text for a row's number. Different numbers have different keys."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column beside the key.

    ``kind`` names its values in ``KINDS``. ``former`` are the names that it had, oldest first; ``default`` is what rows have
    that were there before it (their text, None: NULL).
    """

    name: str
    type: str
    kind: str
    former: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False

    @property
    def large(self) -> bool:
        """Whether its values do not fit into their row."""
        return self.kind.startswith("large")


@dataclass(frozen=True, slots=True)
class Shape:
    """A table as it is made. ``evolves``: its columns change. ``closed``: its rows are bound to other tables' rows."""

    name: str
    key: Key
    columns: tuple[Column, ...]
    identity: str = "default"
    evolves: bool = False
    closed: bool = False
    extra: str = ""
    """Further columns, which the workload never names."""
    tail: str = ""
    """The text after the table's columns."""
    after: tuple[str, ...] = ()
    """Statements that follow."""
    unique: bool = False
    """The key is a unique index instead of a primary key."""


def columns(*kinds: str) -> tuple[Column, ...]:
    """One column for each, named ``c1`` and so on."""
    return tuple(Column(f"c{number}", kind.removeprefix("large "), kind) for number, kind in enumerate(kinds, 1))


def _int(number: int) -> str:
    return str({1: -(2**31), 2: 2**31 - 1, 3: 0}.get(number, number))


def _bigint(number: int) -> str:
    return str({1: -(2**63), 2: 2**63 - 1}.get(number, number * 900_719_925_471 * (-1) ** number))


def _uuid(number: int) -> str:
    digest = hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}"


def _text(number: int) -> str:
    return f"{('k', 'K', 'é', '漢', '😀', ' ', chr(39), chr(34), chr(92))[number % 9]}{number}{' ' * (number % 2)}"


def _numeric(number: int) -> str:
    return f"{'-' if number % 3 == 0 else ''}{number}.{number % 1000:06d}"


def _moment(number: int) -> str:
    if number == 1:
        return "infinity"
    if number == 2:
        return "0044-03-15 01:02:03+00 BC"
    return (datetime(1960, 1, 1, tzinfo=UTC) + timedelta(seconds=number * 61, microseconds=number)).isoformat(" ")


ID: Final[Key] = (("id", "integer", _int),)
_TOAST: Final = columns("large text", "large bytea", "large jsonb", "large text[]", "integer", "text")
_EVOLVING: Final = columns("integer", "varchar(40)", "numeric(10,2)", "text", "large text", "boolean")

SHAPES: Final = (
    Shape("plain_int", ID, columns("boolean", "smallint", "integer", "bigint", "real", "double precision", "oid", "text")),
    Shape("plain_bigint", (("id", "bigint", _bigint),), columns("text", "varchar(40)", "char(5)", '"char"', "large text", "bytea", "uuid")),
    Shape("plain_uuid", (("id", "uuid", _uuid),), columns("json", "jsonb", "hstore", "ltree", "citext", "isbn", "xml", "tsvector")),
    Shape("plain_text", (("id", "text", _text),), columns("mood", "price", "year", "mood[]", "text", "large jsonb", "uuid[]")),
    Shape(
        "plain_pair",
        (("a", "integer", lambda number: str(number // 7 - 100)), ("b", "text", lambda number: f"p{number % 7}é")),
        columns("inet", "cidr", "macaddr", "macaddr8", "bigint", "large text[]"),
    ),
    Shape(
        "plain_numeric",
        (("id", "numeric(24,6)", _numeric),),
        columns("numeric", "numeric(10,2)", "numeric(38,10)", "numeric(60,20)", "money"),
    ),
    Shape(
        "plain_moment",
        (("at", "timestamptz", _moment),),
        columns("timestamptz", "timestamptz(0)", "timestamptz(3)", "timestamp", "large bytea"),
    ),
    Shape(
        "parted",
        ID,
        columns("text", "large text", "numeric(3,-2)", "date"),
        tail=" PARTITION BY HASH (id)",
        after=tuple(f"CREATE TABLE parted_{part} PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER {part})" for part in range(3)),
    ),
    Shape("log_plain", (), columns("integer", "text", "timestamptz", "numeric(10,2)"), extra=", number serial"),
    Shape("log_wide", (), columns("bigint", "jsonb", "date", "bytea", "text[]", "large text")),
    Shape("toast_default", ID, _TOAST),
    Shape("toast_full", ID, _TOAST, identity="full"),
    Shape("toast_index", (("code", "text", _text),), _TOAST, identity="index", unique=True),
    Shape("parent", ID, columns("text", "integer"), closed=True, extra=", number serial"),
    Shape(
        "child",
        (("id", "bigint", _bigint),),
        columns("text", "integer"),
        identity="full",
        closed=True,
        extra=", parent_id integer REFERENCES parent ON UPDATE CASCADE ON DELETE SET NULL",
    ),
    Shape("evolve_small", ID, _EVOLVING, evolves=True),
    Shape("evolve_uuid", (("id", "uuid", _uuid),), _EVOLVING, evolves=True),
    Shape("evolve_full", ID, _EVOLVING, identity="full", evolves=True),
    Shape(
        "times",
        ID,
        columns("date", "time(0)", "time(3)", "time", "timestamp(0)", "timestamp(3)", "timestamp", "timetz", "timestamptz", "interval"),
    ),
    Shape(
        "odd_kinds",
        ID,
        columns(
            *("bit(1)", "bit(12)", "bit(64)", "varbit(40)", "point", "int2vector", "oidvector", "vector", "halfvec", "sparsevec"),
            *("geometry", "geography", "int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange"),
            *(kind for kind in KINDS if kind.endswith("[]") and not kind.startswith("large")),
        ),
        identity="full",
    ),
)


def shapes(offers: Collection[str]) -> list[Shape]:
    """The tables, less the columns of types that a server with these extensions has not."""
    return [
        replace(shape, columns=tuple(column for column in shape.columns if EXTENSIONS.get(column.type) in {None, *offers}))
        for shape in SHAPES
    ]


def ddl(shape: Shape) -> list[str]:
    """The statements that make the table. Large columns are stored outside of their row, and not compressed."""
    parts = [f"{name} {type_name} NOT NULL" for name, type_name, _ in shape.key]
    parts += [f"{column.name} {column.type}" for column in shape.columns]
    keys = ", ".join(name for name, _, _ in shape.key)
    if keys and not shape.unique:
        parts.append(f"PRIMARY KEY ({keys})")
    made = [f"CREATE TABLE {shape.name} ({', '.join(parts)}{shape.extra}){shape.tail}"]
    made += [f"ALTER TABLE {shape.name} ALTER {column.name} SET STORAGE EXTERNAL" for column in shape.columns if column.large]
    if shape.unique:
        made.append(f"CREATE UNIQUE INDEX {shape.name}_key ON {shape.name} ({keys})")
    if shape.identity == "full":
        made.append(f"ALTER TABLE {shape.name} REPLICA IDENTITY FULL")
    if shape.identity == "index":
        made.append(f"ALTER TABLE {shape.name} REPLICA IDENTITY USING INDEX {shape.name}_key")
    return [*made, *shape.after]
