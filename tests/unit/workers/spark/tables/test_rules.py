"""The rules for single tables: what is accepted, and the tables that follow. No Spark is started."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql.types import StringType

from tests.support.each_case import each_case
from workers.spark.failure import WRONG, JobError, TableError
from workers.spark.jobs.mirror_config import MirrorConfig, SinkConfig, parse_config
from workers.spark.jobs.stream import run_history
from workers.spark.sinks.ruled_sink import routed
from workers.spark.tables.partitions import partitioned, partitions_of
from workers.spark.tables.rules import DELETED, DELETED_AT, NO_RULE, Rules, TableRule
from workers.spark.tables.table import Column, Table
from workers.spark.types import kind_of

INT, TEXT, DATE = kind_of({"type": "int32"}), kind_of({"type": "string"}), kind_of({"type": "int32", "name": "io.debezium.time.Date"})
PEOPLE = Table("public", "people", (Column("id", INT), Column("name", TEXT), Column("born", DATE)), ("id",))


def parsed(*rules: dict[str, Any]) -> MirrorConfig:
    return parse_config({"name": "m", "bootstrap": "k", "checkpoint": "/c", "prefix": "p", "sink": {"path": "/t"}, "table": list(rules)})


def names(rule: TableRule, table: Table = PEOPLE) -> list[str]:
    return [column.name for column in rule.shape(table).columns]


def test_first_rule_that_matches_the_whole_name_counts() -> None:
    first = {"match": r"public\.peo.*", "columns": ["name"]}
    rules = parsed(first, {"match": ".*", "mask": {"name": "hash"}, "salt": "s"}).rules
    assert rules.of(PEOPLE) == TableRule(r"public\.peo.*", columns=("name",))
    assert rules.of(Table("xpublic", "people", (), ())).mask == {"name": "hash"}
    assert Rules().of(PEOPLE) == NO_RULE


def test_columns_of_the_key_stay() -> None:
    assert names(TableRule(".*", columns=("name",))) == ["id", "name"]
    assert names(TableRule(".*", exclude_columns=("name",))) == ["id", "born"]
    assert names(TableRule(".*", soft_delete=True)) == [DELETED, DELETED_AT, "id", "name", "born"]


def named(*columns: str, table: str = "people") -> Table:
    return Table("public", table, tuple(Column(name, TEXT) for name in columns), ())


BEFORE = named("id", "email", "ssn", "last")
HIDES = TableRule("public.people", mask={"email": "hash"}, salt="s", exclude_columns=("ssn",))


@pytest.mark.parametrize(
    ("rule", "after"),
    [
        (HIDES, [named("id", "mail", "ssn", "last")]),
        (HIDES, [named("id", "email", "social", "last")]),
        (HIDES, [named("id", "email", "last"), named("id", "last", "mail")]),
        (replace(HIDES, match=".*"), [named("id", "mail", "ssn", "last")]),
    ],
    ids=["masked", "excluded", "on_the_way", "pattern"],
)
def test_renamed_column_that_a_rule_hides_is_refused(rule: TableRule, after: list[Table]) -> None:
    with pytest.raises(TableError, match=r"public.people has lost (email|ssn), .* has got (mail|social), which may be the new name"):
        rule.check_hidden([BEFORE, *after], first=False)


@pytest.mark.parametrize(
    ("rule", "after"),
    [
        (HIDES, [named("id", "ssn", "last")]),
        (HIDES, [named("id", "ssn", "last"), named("id", "ssn", "last", "more")]),
        (HIDES, [named("id", "email", "ssn", "last", "more")]),
        (replace(HIDES, mask={"email": "hash", "mail": "hash"}), [named("id", "mail", "ssn", "last")]),
        (TableRule(".*", columns=("email", "last"), mask={"email": "null"}), [named("id", "mail", "ssn", "last")]),
    ],
    ids=["dropped", "dropped_then_added", "added", "both_named", "others_left_out"],
)
def test_changes_that_show_no_hidden_value_are_accepted(rule: TableRule, after: list[Table]) -> None:
    rule.check_hidden([BEFORE, *after], first=False)


@pytest.mark.parametrize("match", ["public.people", r"public\.people"])
def test_hidden_column_that_the_only_table_of_a_rule_lacks_is_refused(match: str) -> None:
    rule = TableRule(match, mask={"emial": "hash"}, salt="s")
    with pytest.raises(TableError, match=r"leaves out emial, which the table does not have\. Correct"):
        rule.check_hidden([BEFORE], first=True)
    rule.check_hidden([BEFORE], first=False)
    replace(rule, match=r"public\.peo.*").check_hidden([BEFORE], first=True)


def test_columns_that_no_table_of_a_rule_has_are_named() -> None:
    rules = Rules((TableRule(r"public\..*", mask={"email": "null", "emial": "null"}), TableRule(".*", exclude_columns=("x",))))
    assert rules.unmatched([]) == {}
    assert [*rules.unmatched([named("id")])] == [(r"public\..*", "email"), (r"public\..*", "emial")]
    said = rules.unmatched([named("id"), named("email", table="other")])
    assert [*said] == [(r"public\..*", "emial")]
    assert "leaves out emial, a column that none of its tables so far has: public.other, public.people. Check the name." in next(
        iter(said.values())
    )


def test_selected_columns_that_no_table_has_are_named() -> None:
    rule = TableRule("public.people", columns=("id", "nmae", "email"), mask={"email": "null"})
    assert [*Rules((rule,)).unmatched([named("id", "name")])] == [("public.people", "email"), ("public.people", "nmae")]
    said = Rules((rule,)).unmatched([named("id", "email")])["public.people", "nmae"]
    assert said.startswith("[[table]] with match = 'public.people' selects nmae, a column that none of its tables so far has")


def test_masked_columns_are_text() -> None:
    shape = TableRule(".*", mask={"id": "hash", "name": "constant:*", "born": "null"}, salt="s").shape(PEOPLE)
    assert [isinstance(column.kind.type, StringType) for column in shape.columns] == [True, True, False]


def test_route_has_the_source_s_names() -> None:
    rules = Rules((TableRule(".*", route="lake.${schema}_${table}"),))
    assert routed(rules, PEOPLE).full_name == "lake.public_people"
    assert rules.of(PEOPLE).shape(PEOPLE).full_name == "lake.public_people"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (TableRule(".*", exclude_columns=("id",)), "exclude_columns names id, of the key of public.people"),
        (TableRule(".*", mask={"id": "truncate:3"}), "A column of the key can only be hashed"),
        (TableRule(".*", mask={"born": "constant:x"}), "born of public.people, whose type is date. Only null masks it"),
        (TableRule(".*", mask={"born": "hash"}, salt="s"), "born of public.people, whose type is date. Only null masks it"),
    ],
)
def test_rule_that_does_not_fit_a_table_sets_it_aside(rule: TableRule, said: str) -> None:
    with pytest.raises(TableError, match=said) as refused:
        rule.shape(PEOPLE)
    assert refused.value.table == "public.people"


def test_soft_deletes_need_a_key_and_their_names() -> None:
    soft = TableRule(".*", soft_delete=True)
    with pytest.raises(TableError, match="has no key, so that deletes identify no row"):
        soft.shape(Table("s", "t", PEOPLE.columns, ()))
    with pytest.raises(TableError, match="a column __deleted, a name that soft_delete reserves"):
        soft.shape(Table("s", "t", (*PEOPLE.columns, Column(DELETED, TEXT)), ("id",)))


@each_case(
    ("rule", "said"),
    [
        ({"match": "(", "soft_delete": True}, r"\[\[table\]\] number 1 \(match = '\('\): match is no regular expression"),
        ({"match": "a"}, "it has no effect. Set one of soft_delete"),
        ({"soft_delete": True}, "table.match is missing"),
        ({"match": "a", "softdelete": True}, "unknown key table.softdelete. Known here: columns, exclude_columns"),
        ({"match": "a", "columns": "x"}, "table.columns must be a list of texts"),
        ({"match": "a", "columns": [1]}, "table.columns must be text"),
        ({"match": "a", "columns": ["x"], "exclude_columns": ["y"]}, "columns and exclude_columns are both set"),
        ({"match": "a", "mask": {"x": "blur"}}, "mask.x is 'blur'. Use hash, null, constant:TEXT or truncate:CHARACTERS"),
        ({"match": "a", "mask": {"x": "truncate:0"}}, "mask.x is 'truncate:0'"),
        ({"match": "a", "mask": {"x": "null"}, "exclude_columns": ["x"]}, "mask.x is set for a column that is left out"),
        ({"match": "a", "mask": {"x": "null"}, "columns": ["y"]}, "mask.x is set for a column that is left out"),
        ({"match": "a", "mask": {"x": "hash"}}, "mask has hash, but salt is missing"),
        ({"match": "a", "mask": {"x": "null"}, "salt": "s"}, "salt is set, but no mask is hash"),
        ({"match": "a", "route": "${db}.x"}, r"route has \$\{db\}. Only \$\{schema\} and \$\{table\} are known"),
        ({"match": "a", "route": "${table}"}, "route is '.*'. Write it as schema.table"),
        ({"match": "a", "route": "a.b.${table}"}, "route is '.*'. Write it as schema.table"),
        ({"match": "a", "partition_by": ["day(x)"]}, r"partition_by has 'day\(x\)': the transform day is unknown. Use one of years"),
        ({"match": "a", "partition_by": ["bucket(x)"]}, r"partition_by has 'bucket\(x\)': write bucket\(16, x\)"),
        ({"match": "a", "partition_by": ["bucket(0, x)"]}, r"write bucket\(16, x\)"),
        ({"match": "a", "partition_by": ["days(3, x)"]}, r"write days\(x\)"),
        ({"match": "a", "partition_by": [""]}, "partition_by has '': it is empty"),
        ({"match": "a", "partition_by": ["x", "x"]}, "partition_by names x twice"),
        ({"match": "a", "partition_by": ["x"], "exclude_columns": ["x"]}, "partition_by names x, which is left out"),
        ({"match": "a", "partition_by": ["days(x)"]}, r"partition_by has days\(x\), but Delta divides files by columns only"),
    ],
)
def test_wrong_rules_are_named(rule: dict[str, Any], said: str) -> None:
    with pytest.raises(JobError, match=said) as refused:
        parsed(rule)
    assert refused.value.code == WRONG


def test_rules_are_lists_of_tables() -> None:
    least: dict[str, Any] = {"name": "m", "bootstrap": "k", "checkpoint": "/c", "prefix": "p", "sink": {"path": "/t"}}
    for wrong in ({"match": "a"}, ["a"]):
        with pytest.raises(JobError, match=r"table must be a list of tables: write \[\[table\]\]"):
            parse_config({**least, "table": wrong})


def test_partitions_are_for_lakes() -> None:
    least: dict[str, Any] = {"name": "m", "bootstrap": "k", "checkpoint": "/c", "prefix": "p"}
    rule = {"match": "a", "partition_by": ["bucket(16, a b)", "x"]}
    for sink in ({"path": "/t", "format": "parquet"}, {"dsn": "d", "format": "postgres"}):
        with pytest.raises(JobError, match=f"partition_by is for the formats delta and iceberg, but sink.format is {sink['format']}"):
            parse_config({**least, "sink": sink, "table": [rule]})
    config = parse_config({**least, "sink": {"path": "/t", "format": "iceberg"}, "table": [rule]})
    shape = config.table[0].shape(PEOPLE)
    assert shape.partition_by == ("bucket(16, a b)", "x")
    with pytest.raises(TableError, match=r"partition_by names a b, x, which public\.people does not have"):
        partitioned(shape)
    divided = replace(PEOPLE, partition_by=("bucket(16, id)", "years(born)", "name"))
    assert partitioned(divided) == " PARTITIONED BY (bucket(16, `id`), years(`born`), `name`)"
    assert [part.sql for part in partitions_of(divided, ["id", "name"])] == ["bucket(16, `id`)", "`name`"]


def test_history_refuses_rules_that_change_rows() -> None:
    config = MirrorConfig("m", "k:9092", "/c", SinkConfig(path="/t"), prefix="p", table=(TableRule(".*", soft_delete=True),))
    with pytest.raises(JobError, match="only route and partition_by fit"):
        run_history(config)
