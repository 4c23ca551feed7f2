"""Neo4jCudConverter against the original's answers (``tests.support.record_transforms_debezium --only neo4j``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from connector.configdef.options import Options
from connector.emulation import DEBEZIUM_3_7_0
from connector.record.connect_record import DataError
from connector.transforms.debezium.neo4j.neo4j_cud_converter import DEFINITIONS, Neo4jCudConverter
from tests.support.debezium_cases import CREATE, TRUNCATE
from tests.support.each_case import each_case
from tests.support.java_replay import Recorded, difference, outcomes, recorded

RECORDED = list(recorded(Path(__file__).with_name("neo4j_recorded.json")))


@each_case("case", RECORDED, ids=lambda case: f"{case.version} {case.name} {case.options}")
def test_does_what_the_reference_did(case: Recorded) -> None:
    assert difference(case.answers, outcomes(case, DEFINITIONS)) is None


def made(**more: str) -> Neo4jCudConverter:
    options = {"table.t.node.labels": "Thing", "table.t.node.id.properties": "nope", **more}
    return Neo4jCudConverter(Options(DEFINITIONS[0].keys, options, DEBEZIUM_3_7_0))


def test_what_is_left_out_is_reported_once_and_without_values() -> None:
    transform, said = made(), []
    transform.reports.bind("cud", lambda event, /, **fields: said.append((event, fields)), lambda *_, **__: None)
    assert [transform.apply(record) for record in (CREATE, CREATE, TRUNCATE)] == [None, None, None]
    problem = {"problem": "none of the columns nope (node.id.properties) has a value", "consequence": "the row is left out"}
    assert said == [
        ("cud command incomplete", {"transform": "cud", "topic": "p.s.t", **problem}),
        ("event dropped, which the cud format cannot hold", {"transform": "cud", "topic": "p.s.t", "operation": "t"}),
    ]


def test_a_failure_names_the_columns_and_the_option() -> None:
    with pytest.raises(DataError, match=r"none of the columns nope \(node\.id\.properties\).*field\.missing\.behavior=fail"):
        made(**{"field.missing.behavior": "fail"}).apply(CREATE)
