from __future__ import annotations

from pathlib import Path

from connector.transforms.debezium.extract_changed_record_state import DEFINITIONS
from tests.support.each_case import each_case
from tests.support.java_replay import Recorded, difference, outcomes, recorded

RECORDED = list(recorded(Path(__file__).with_name("changed_recorded.json")))


@each_case("case", RECORDED, ids=lambda case: f"{case.version} {case.options}")
def test_does_what_the_reference_did(case: Recorded) -> None:
    assert difference(case.answers, outcomes(case, DEFINITIONS)) is None
