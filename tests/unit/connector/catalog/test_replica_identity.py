from __future__ import annotations

from typing import Literal

import pytest

from connector.catalog.replica_identity import IdentityChange, IdentityRule, TableIdentity, plan_identities
from connector.config.packed import ReplicaIdentity

Word = Literal["DEFAULT", "FULL", "NOTHING", "INDEX"]


def rule(table: str, identity: Word, index: str | None = None) -> IdentityRule:
    return IdentityRule.of(ReplicaIdentity(table, identity, index), "")


@pytest.mark.parametrize(
    ("has", "index", "wanted", "shown", "statement"),
    [
        ("d", None, rule("s.t", "FULL"), "FULL", 'ALTER TABLE "s"."t" REPLICA IDENTITY FULL'),
        ("f", None, rule("s.t", "FULL"), "FULL", None),
        ("f", None, rule("s.t", "DEFAULT"), "DEFAULT", 'ALTER TABLE "s"."t" REPLICA IDENTITY DEFAULT'),
        ("n", None, rule("s.t", "NOTHING"), "NOTHING", None),
        ("d", None, rule("s.t", "INDEX", "u"), "USING INDEX u", 'ALTER TABLE "s"."t" REPLICA IDENTITY USING INDEX "u"'),
        ("i", "v", rule("s.t", "INDEX", "u"), "USING INDEX u", 'ALTER TABLE "s"."t" REPLICA IDENTITY USING INDEX "u"'),
        ("i", "u", rule("s.t", "INDEX", "u"), "USING INDEX u", None),
    ],
)
def test_one_table(has: str, index: str | None, wanted: IdentityRule, shown: str, statement: str | None) -> None:
    plan = plan_identities([wanted], [TableIdentity("s", "t", has, index)])
    assert plan.changes == (IdentityChange("s.t", shown, statement),)
    assert plan.conflicts == ()


def test_table_that_two_rules_name_is_a_conflict_and_others_continue() -> None:
    tables = [TableIdentity("s", "z", "d"), TableIdentity("s", "tw", "d"), TableIdentity("s", "a", "d")]
    plan = plan_identities([rule("s.t.*", "FULL"), rule("s.tw", "NOTHING"), rule("s.[az]", "FULL")], tables)
    assert plan.conflicts == ("s.tw",)
    assert [change.table for change in plan.changes] == ["s.a", "s.z"]


def test_tables_without_a_rule_stay() -> None:
    assert plan_identities([rule("s.other", "FULL")], [TableIdentity("s", "t", "d")]).changes == ()


def test_names_are_quoted() -> None:
    plan = plan_identities([rule(".*", "FULL")], [TableIdentity('s"x', "T t", "d")])
    assert plan.changes[0].statement == 'ALTER TABLE "s""x"."T t" REPLICA IDENTITY FULL'
