"""Every rule file gives the series that the real JMX exporter 1.0.1 gave for the same MBeans."""

from __future__ import annotations

import json
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from connector.ports import Backtracking
from tests.support.each_case import each_case
from tests.support.jmx_rule_cases import BEANS, CASES
from tests.support.project import ROOT
from workers.telemetry.rules.evaluation import RuleSet
from workers.telemetry.rules.rule_file import RuleFileError, parse_rules
from workers.telemetry.rules.text_format import PROMETHEUS, write

RECORDED: Final[dict[str, list[str]]] = json.loads((ROOT / "tests/unit/workers/telemetry/rules/jmx_rules_recorded.json").read_text())[
    "cases"
]
OTHERWISE: Final = {
    # The exporter has this key since 1.1; 1.0.1 ignores it.
    "include attributes": "kafka_connect_connect_worker_metrics_connector_startup_attempts 4.0",
}
"""Case → the recorded series that is not here."""


def read(text: str) -> tuple[dict[str, str], dict[str, float]]:
    """Types of families, and series."""
    families = list(text_string_to_metric_families(text))
    types = {family.name: family.type for family in families}
    return types, {str((s.name, sorted(s.labels.items()))): s.value for family in families for s in family.samples}


@each_case("name", CASES)
def test_series_are_the_recorded_ones(name: str, backtrack: Backtracking) -> None:
    recorded = [line for line in RECORDED[name] if line != OTHERWISE.get(name)]
    if any(line.startswith("EXCEPTION") for line in recorded):
        with pytest.raises(RuleFileError):
            parse_rules(CASES[name], backtrack)
        return
    if name == "group that does not exist":
        # The exporter's whole scrape fails with each call; here the worker does not start.
        assert recorded == []
        with pytest.raises(RuleFileError, match="No group 3"):
            parse_rules(CASES[name], backtrack)
        return
    rules = RuleSet(parse_rules(CASES[name], backtrack))
    text = write(rules.families(BEANS), PROMETHEUS).decode()
    types, series = read(text)
    # A type must precede its series in the format.
    in_order = sorted(recorded, key=lambda line: (line.split()[2] if line[0] == "#" else line.split("{")[0].split()[0], line[0] != "#"))
    expected_types, expected = read("\n".join(line for line in in_order if not (name in OTHERWISE and "startup_attempts" in line)) + "\n")
    assert {key: repr(value) for key, value in series.items()} == {key: repr(value) for key, value in expected.items()}
    assert types == expected_types
    before = rules.evaluations
    assert write(rules.families(BEANS), PROMETHEUS).decode() == text
    assert rules.evaluations == before


def test_every_case_is_recorded() -> None:
    assert RECORDED.keys() == CASES.keys()
