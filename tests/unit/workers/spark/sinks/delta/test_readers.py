"""Which Delta tables the readers understand. No Spark is started."""

from __future__ import annotations

import pytest

from tests.support.each_case import each_case

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from workers.spark.sinks.delta.readers import PROPERTIES, refused_names, refused_table
from workers.spark.tables.table import Column, Table
from workers.spark.types import kind_of


def of(*names: str) -> Table:
    return Table("s", "t", tuple(Column(name, kind_of({"type": "int32"})) for name in names), ())


def test_both_kinds_of_tables_set_the_same_features() -> None:
    assert {*PROPERTIES["spark"]} < {*PROPERTIES["all"]}


@each_case("name", ["a b", "a,b", "a;b", "a{", "a}", "a(", "a)", "a\nb", "a\tb", "a=b"])
def test_names_that_need_a_mapping_are_refused(name: str) -> None:
    said = refused_names(of("id", name))
    assert said is not None
    assert f"the columns {name} of s.t" in said


def test_other_names_are_not_refused() -> None:
    assert refused_names(of("id", "Größe", "a.b", "a`b", "__lsn2")) is None


@pytest.mark.parametrize(
    ("readers", "features", "changes", "said"),
    [
        ("all", ["timestampNtz", "appendOnly"], True, None),
        ("all", ["deletionVectors", "columnMapping", "appendOnly"], False, "features columnMapping, deletionVectors,"),
        ("all", ["typeWidening"], False, "features typeWidening,"),
        ("spark", ["columnMapping"], True, None),
        ("spark", ["appendOnly"], False, None),
        ("spark", ["appendOnly"], True, 'was made with readers = "all"'),
    ],
)
def test_existing_tables_are_checked(readers: str, features: list[str], changes: bool, said: str | None) -> None:
    found = refused_table(readers, of("id"), "/t/s/t", features, changes=changes)
    if said is None:
        assert found is None
    else:
        assert found is not None
        assert said in found
        assert "--rebuild s.t" in found
