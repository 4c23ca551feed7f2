"""The statements that set the replica identities of ``replica.identity.autoset.values`` (Debezium documentation).

This module does no I/O; :mod:`connector.io.postgres.replica_identity` reads the tables and executes the statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connector.catalog.filters import TABLE_DOTS
from connector.catalog.identifiers import quote_identifier, quote_table
from connector.catalog.name_matcher import LongForm, NameMatcher
from connector.config.packed import ReplicaIdentity
from connector.ports import Backtracking, no_backtracking

_WORDS = {"d": "DEFAULT", "f": "FULL", "n": "NOTHING", "i": "INDEX"}


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """The current replica identity of a captured table: ``identity`` is relreplident, ``index`` the index of identity ``i``."""

    schema: str
    table: str
    identity: str
    index: str | None = None

    @property
    def name(self) -> str:
        """``schema.table``, as rules name it."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class IdentityChange:
    """``statement`` sets the identity of ``table``; None if the table has it. ``identity`` is its name for messages."""

    table: str
    identity: str
    statement: str | None


@dataclass(frozen=True, slots=True)
class IdentityPlan:
    """The changes to make. ``conflicts`` are tables that several rules name; these are not changed."""

    changes: tuple[IdentityChange, ...]
    conflicts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdentityRule:
    """An entry of ``replica.identity.autoset.values``: the tables that it names (``schema.table``), and the identity for them."""

    matches: NameMatcher
    wanted: ReplicaIdentity

    @classmethod
    def of(cls, wanted: ReplicaIdentity, database: str, backtrack: Backtracking = no_backtracking) -> IdentityRule:
        """Compile the entry. Raises CdcError(CONFIG_INVALID) for a pattern that cannot be used."""
        form = LongForm(database, TABLE_DOTS)
        return cls(NameMatcher([wanted.table], "replica.identity.autoset.values", long_form=form, backtrack=backtrack), wanted)


def plan_identities(rules: Sequence[IdentityRule], captured: Sequence[TableIdentity]) -> IdentityPlan:
    """Return the changes that give every table of ``captured`` the identity of its rule. A table with several rules is a conflict."""
    changes, conflicts = [], []
    for table in sorted(captured, key=lambda table: (table.schema, table.table)):
        wanted = [rule.wanted for rule in rules if rule.matches(table.name)]
        if len(wanted) > 1:
            conflicts.append(table.name)
        elif wanted:
            changes.append(_change(table, wanted[0]))
    return IdentityPlan(tuple(changes), tuple(conflicts))


def _change(table: TableIdentity, rule: ReplicaIdentity) -> IdentityChange:
    has = _WORDS.get(table.identity) == rule.identity and (rule.identity != "INDEX" or table.index == rule.index)
    index = rule.index or ""
    shown = f"USING INDEX {index}" if rule.identity == "INDEX" else rule.identity
    clause = f"USING INDEX {quote_identifier(index)}" if rule.identity == "INDEX" else rule.identity
    statement = None if has else f"ALTER TABLE {quote_table(table.schema, table.table)} REPLICA IDENTITY {clause}"
    return IdentityChange(table.name, shown, statement)
