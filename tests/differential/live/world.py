"""The tables of one run as the generator knows them, and what it draws from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from .kinds import Kind
from .literals import Drawer, quote_name


class Database(Protocol):
    """What executes the statements. A statement that fails leaves its transaction as it was."""

    def execute(self, sql: str) -> bool:
        """Whether it succeeded."""
        ...


@dataclass(slots=True)
class Column:
    """``serial``: values that count up. ``generated``: the clause of a generated or identity column, which is not written."""

    name: str
    type: str
    draw: Drawer | None = None
    required: bool = False
    default: str | None = None
    generated: str = ""
    identity: str = ""
    serial: bool = False

    def definition(self) -> str:
        default = f" DEFAULT {self.default}" if self.default is not None and not self.generated else ""
        clauses = "".join(f" {clause}" for clause in (self.generated, self.identity) if clause)
        return f"{quote_name(self.name)} {self.type}{clauses}{default}{' NOT NULL' if self.required else ''}"


@dataclass(slots=True)
class Table:
    """``special``: its columns and name stay, since other tables depend on them."""

    schema: str
    name: str
    columns: list[Column] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    count: int = 0
    special: bool = False

    @property
    def quoted(self) -> str:
        return f"{quote_name(self.schema)}.{quote_name(self.name)}"

    def own_columns(self) -> list[Column]:
        """Those that can be changed freely."""
        return [column for column in self.columns if not column.serial and not column.generated]


@dataclass(slots=True)
class World:
    """One run's state. ``snapshot``: values may still be read by a snapshot. ``plain``: what a signal can
    ask for: names without quotes, and no tables that Debezium's incremental snapshots do not read or read in part
    (docs/differences.md): with generated columns, with a nullable key, or with others that inherit from them.
    """

    random: Random
    database: Database
    kinds: Mapping[str, Kind]
    plain: bool = False
    version: int = 15
    prepares: bool = True
    tables: list[Table] = field(default_factory=list)
    snapshot: bool = True
    number: int = 0
    labels: int = 0
    types: int = 0

    def next_number(self) -> int:
        self.number += 1
        return self.number

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def execute(self, sql: str) -> bool:
        return self.database.execute(sql)
