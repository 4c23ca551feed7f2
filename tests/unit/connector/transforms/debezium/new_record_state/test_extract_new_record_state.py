from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from connector.configdef.options import Options
from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, DEBEZIUM_3_7_0, Emulation
from connector.record.connect_record import ConnectRecord
from connector.record.schema import STRING, Field, Schema
from connector.transforms.debezium.new_record_state.extract_new_record_state import DEFINITIONS
from tests.support.each_case import each_case
from tests.support.java_replay import Recorded, difference, outcomes, recorded

RECORDED = list(recorded(Path(__file__).with_name("unwrap_recorded.json")))


@each_case("case", RECORDED, ids=lambda case: f"{case.version} {case.options}")
def test_does_what_the_reference_did(case: Recorded) -> None:
    assert difference(case.answers, outcomes(case, DEFINITIONS)) is None


ROW: Final = Schema("struct", optional=True, name="p.Value", fields=(Field("to", STRING.as_optional()),))
EVENT: Final = Schema("struct", name="p.Envelope", fields=(Field("before", ROW), Field("after", ROW), Field("op", STRING)))


@pytest.mark.parametrize(
    ("emulation", "to", "topic"),
    [
        (DEBEZIUM_3_7_0, "u", "u"),
        (DEBEZIUM_3_7_0, " u", " u"),
        (DEBEZIUM_3_7_0, " ", "t"),
        (DEBEZIUM_3_6_3, "\t\n", "t"),
        (DEBEZIUM_3_6_3, "", "t"),
        (DEBEZIUM_2_3_4, " ", " "),
    ],
)
def test_a_blank_value_names_no_topic_since_version_3(emulation: Emulation, to: str, topic: str) -> None:
    definition = DEFINITIONS[0]
    transform = definition.make(Options(definition.keys_in(emulation.version), {"route.by.field": "to"}, emulation))
    changed = transform.apply(ConnectRecord("t", None, None, EVENT, {"before": None, "after": {"to": to}, "op": "c"}))
    assert changed is not None
    assert changed.topic == topic
