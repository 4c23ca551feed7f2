"""The board and the alert rules: every series that they name is one that a scrape can have."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.support.each_case import each_case
from tests.support.project import ROOT
from workers.telemetry.beans import snapshot, streaming
from workers.telemetry.own.figure import Figure
from workers.telemetry.own.table import CONNECTOR, WORKER
from workers.telemetry.process_figures import process_families

BOARD = json.loads((ROOT / "docs/grafana/understudy.json").read_text())
ALERTS = yaml.safe_load((ROOT / "docs/grafana/alerts.yml").read_text())["groups"][0]["rules"]
PROMTOOL: Final = shutil.which("promtool")
RUNNING: Final = 'understudy_task_state{connector="shop",state="running"}'
PAUSED: Final = 'understudy_task_state{connector="shop",state="paused"}'
WAL: Final = {'understudy_server_wal_position_bytes{connector="shop"}': "0+100000000x40"}
SENT: Final = 'understudy_sent_records_total{connector="shop",topic="%s"}'
OWN: Sequence[Figure[Any]] = (*CONNECTOR, *WORKER)
SERIES = re.compile(r"\b(?:understudy|debezium|kafka|process|jmx)_\w+")
LABELS = re.compile(r"\b((?:understudy|debezium)_\w+)\{([^}]*)\}")


def labels_of() -> dict[str, set[str]]:
    """Each series that a scrape can have, with its labels."""
    found: dict[str, set[str]] = {}
    for figure in OWN:
        labels = {*figure.labels, *({"connector"} if figure in CONNECTOR else ())}
        endings = ("_bucket", "_sum", "_count") if figure.kind == "histogram" else ("",)
        found |= {f"{figure.series}{ending}": labels | ({"le"} if ending == "_bucket" else set()) for ending in endings}
    found |= {f"debezium_metrics_{row.name}": {"context", "name", "plugin", "table"} for row in (*streaming.TABLE, *snapshot.TABLE)}
    found |= {family.series: set() for family in process_families()}
    return {**found, "jmx_scrape_duration_seconds": set()}


def queries() -> Iterator[str]:
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]
    for variable in BOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]
    for rule in ALERTS:
        yield rule["expr"]


def test_every_query_names_series_and_labels_that_exist() -> None:
    known = labels_of()
    for query in queries():
        assert SERIES.findall(query), query
        assert set(SERIES.findall(query)) <= known.keys(), query
        for series, matchers in LABELS.findall(query):
            assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)) <= known[series], query


def test_every_own_series_is_on_the_board() -> None:
    shown = {name for query in queries() for name in SERIES.findall(query)}
    missing = [figure.series for figure in OWN if not any(name.startswith(figure.series) for name in shown)]
    assert missing == []


def test_the_panels_have_places_and_ids_of_their_own() -> None:
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))
    cells = [
        (x, y)
        for panel in BOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


@each_case("rule", ALERTS, ids=lambda rule: str(rule["alert"]))
def test_an_alert_is_described(rule: dict[str, object]) -> None:
    assert f"| `{rule['alert']}` |" in (ROOT / "docs/monitoring.md").read_text()
    assert {"summary", "description"} == set(rule["annotations"])  # type: ignore[call-overload]
    assert rule["labels"] in ({"severity": "warning"}, {"severity": "critical"})


@pytest.mark.skipif(PROMTOOL is None, reason="needs Debian's package prometheus")
@pytest.mark.parametrize(
    ("series", "fires"),
    [
        pytest.param({RUNNING: "1x40"}, True, id="never sent anything"),
        pytest.param({RUNNING: "1x40", SENT % "a": "5x40"}, True, id="sent nothing for long"),
        pytest.param({RUNNING: "1x40", SENT % "a": "5x40", SENT % "b": "0+1x40"}, False, id="sends"),
        pytest.param({PAUSED: "1x40"}, False, id="paused"),
    ],
)
def test_the_alert_for_silence_fires_only_for_a_running_task_that_sends_nothing(
    series: dict[str, str], fires: bool, tmp_path: Path
) -> None:
    [rule] = (rule for rule in ALERTS if rule["alert"] == "UnderstudyNoEvents")
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [{**rule, "annotations": {}}]}]}))
    expected = [{"exp_labels": {"connector": "shop", **rule["labels"]}}] if fires else []
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in {**WAL, **series}.items()],
        "alert_rule_test": [{"eval_time": "35m", "alertname": rule["alert"], "exp_alerts": expected}],
    }
    (tmp_path / "case.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "tests": [case]}))
    done = subprocess.run([str(PROMTOOL), "test", "rules", "case.yml"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
