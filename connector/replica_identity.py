"""The replica identities that ``replica.identity.autoset.values`` asks for, as statements (Debezium documentation).

Pure: :mod:`connector.io.pg_replica_identity` looks at the tables and executes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connector.config_families import ReplicaIdentity
from connector.filters import TABLE_DOTS
from connector.name_matcher import LongForm, NameMatcher
from connector.ports import Backtracking, no_backtracking
from connector.table import quote_identifier, quote_table

_WORDS = {"d": "DEFAULT", "f": "FULL", "n": "NOTHING", "i": "INDEX"}


@dataclass(frozen=True, slots=True)
class TableIdentity:
    """What a captured table has now: ``identity`` is relreplident, ``index`` the index of identity ``i``."""

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
    """``statement`` gives ``table`` the identity ``identity``, said for people; None when the table has it."""

    table: str
    identity: str
    statement: str | None


@dataclass(frozen=True, slots=True)
class IdentityPlan:
    """``conflicts`` are tables that several rules name; they are left as they are."""

    changes: tuple[IdentityChange, ...]
    conflicts: tuple[str, ...]


def identity_matcher(rule: ReplicaIdentity, database: str, backtrack: Backtracking) -> NameMatcher:
    """Whether the rule names a table (``schema.table``)."""
    long_form = LongForm(database, TABLE_DOTS)
    return NameMatcher([rule.table], "replica.identity.autoset.values", long_form=long_form, backtrack=backtrack)


def plan_identities(
    rules: Sequence[ReplicaIdentity], captured: Sequence[TableIdentity], database: str = "", backtrack: Backtracking = no_backtracking
) -> IdentityPlan:
    """What to do so that every table of ``captured`` has the identity that the one rule naming it wants."""
    compiled = [(identity_matcher(rule, database, backtrack), rule) for rule in rules]
    changes, conflicts = [], []
    for table in sorted(captured, key=lambda table: (table.schema, table.table)):
        wanted = [rule for matches, rule in compiled if matches(table.name)]
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
