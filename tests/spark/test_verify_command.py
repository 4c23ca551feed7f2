"""What ``verify`` prints, how it answers, and the arguments it takes."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.verify_rig import HELD, items_table, mirror_of
from workers.spark.compare import command
from workers.spark.compare.command import add_verify, run
from workers.spark.compare.verdict import BOTH, MIRROR, SOURCE, Difference, Verdict, summary_text, verdict_text
from workers.spark.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.fix_pg import Database, PgServer

pytestmark = [pytest.mark.pg_once]


@pytest.fixture(scope="module")
def database(pg: PgServer) -> Database:
    return pg.database("verify")


@pytest.fixture(scope="module")
def items(database: Database) -> Table:
    return items_table(database)


def test_report_is_aligned() -> None:
    keys = [
        Difference(("漢字", "1"), SOURCE, (), 1, 0, changing=False),
        Difference(("a", None), BOTH, ("price", "note"), 1, 1, changing=False),
        Difference(("b", "2"), MIRROR, (), 0, 1, changing=True),
    ]
    verdict = Verdict("public.t", ("k", "l"), True, 1000, 1000, 998, 1, 0, 1, 1, {"price": 1, "note": 1}, keys, position=2**32 + 255)
    assert verdict_text(verdict).splitlines() == [
        "public.t: 3 keys differ",
        "  1,000 rows in the source, 1,000 in the mirror, 998 the same",
        "  only in the source 1, different 1, still changing 1",
        "  columns that differ: price (1), note (1)",
        "          k     l  differs in",
        "  source  漢字  1",
        "  both    a     ∅  price, note",
        "  mirror  b     2  (still changing)",
    ]
    assert summary_text([verdict, Verdict("public.u", absent=MIRROR)]).splitlines() == [
        "table     source  mirror    only source  only mirror  different  changing",
        "public.t  1,000   1,000     1            0            1          1         NOT EQUAL",
        "public.u          no table                                                 NOT EQUAL",
    ]


def test_command_prints_and_answers(spark: SparkSession, database: Database, items: Table) -> None:
    frames: dict[str, Callable[[], DataFrame]] = {"items": lambda: mirror_of(spark, items, [*HELD[:3], ("11", "q", "z")])}
    out = io.StringIO()
    assert run(spark, database.dsn, [items], lambda table: frames[table.name](), as_json=True, stream=out) == 1
    reported = json.loads(out.getvalue())
    assert reported["equal"] is False
    assert reported["tables"][0]["keys"] == [
        {"key": {"id": "11"}, "where": "both", "columns": ["name"], "inSource": 1, "inMirror": 1, "changing": False}
    ]
    assert reported["tables"][0]["rows"] == {"source": 4, "mirror": 4, "same": 3}
    out = io.StringIO()
    assert run(spark, database.dsn, [items, items], lambda table: mirror_of(spark, table, HELD), stream=out) == 0
    assert out.getvalue().count("public.items: equal\n  4 rows in the source, 4 in the mirror\n") == 2
    assert out.getvalue().splitlines()[-1].split() == ["public.items", "4", "4", "0", "0", "0", "0", "equal"]


@pytest.mark.parametrize("small", [True, False])
def test_small_tables_need_no_generated_code(
    spark: SparkSession, database: Database, items: Table, monkeypatch: pytest.MonkeyPatch, small: bool
) -> None:
    monkeypatch.setattr(command, "all_small", lambda *_: small)
    settings = []

    def mirror(table: Table) -> DataFrame:
        settings.append(spark.conf.get("spark.sql.codegen.wholeStage"))
        return mirror_of(spark, table, HELD)

    assert run(spark, database.dsn, [items], mirror, stream=io.StringIO()) == 0
    assert settings == ["false" if small else "true"]


def test_table_whose_topic_is_set_aside_is_not_equal(spark: SparkSession, database: Database, items: Table) -> None:
    out, unread, aside = io.StringIO(), Table("public", "orders", (), ()), {"public.orders": "record 7 cannot be read"}
    assert run(spark, database.dsn, [items, unread], lambda table: mirror_of(spark, table, HELD), aside=aside, stream=out) == 1
    lines = out.getvalue().splitlines()
    assert "public.orders: not equal, it is not mirrored, its topic is set aside: record 7 cannot be read" in lines
    assert lines[-1].split() == ["public.orders", "no", "table", "NOT", "EQUAL"]
    out = io.StringIO()
    assert run(spark, database.dsn, [unread], lambda _: None, aside=aside, as_json=True, stream=out) == 1
    assert json.loads(out.getvalue())["tables"][0]["setAside"] == "record 7 cannot be read"


def test_arguments() -> None:
    parser = argparse.ArgumentParser()
    add_verify(parser)
    options = parser.parse_args(["--config", "m.toml", "--json", "--wait", "5", "--table", "a.b", "--table", "a.c"])
    assert (options.json, options.wait, options.table, options.keys, options.rounds) == (True, 5.0, ["a.b", "a.c"], 20, 3)
    with pytest.raises(SystemExit):
        parser.parse_args(["--rounds", "0"])
