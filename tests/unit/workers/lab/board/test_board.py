"""A board's panels are asked of a Prometheus and drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree as ET

import httpx
import pytest

from tests.support.each_case import each_case
from tests.support.project import ROOT
from workers.lab.board import __main__ as command
from workers.lab.board.answers import Line, UnansweredError, lines_of
from workers.lab.board.panels import Panel, Query, panels_of
from workers.lab.board.picture import picture
from workers.lab.board.units import scale, written

BOARD = ROOT / "docs/grafana/understudy.json"
POINTS = ((100.0, 1.0), (105.0, 2.0))


def test_every_panel_of_the_own_board_is_read_and_its_variables_are_filled() -> None:
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    panels = panels_of(board, {"__rate_interval": "15s", "connector": ".*"})
    assert [panel.title for panel in panels] == [panel["title"] for panel in board["panels"]]
    queries = [query.expression for panel in panels for query in panel.queries]
    assert not [query for query in queries if "$" in query]
    assert 'sum(rate(understudy_events_total{connector=~".*"}[15s]))' in queries


@pytest.mark.parametrize(
    ("legend", "name"),
    [("{{connector}} p50", "shop p50"), ("{{ connector }}{{missing}}", "shop"), ("", "connector=shop, state=running")],
)
def test_series_are_named_by_their_labels(legend: str, name: str) -> None:
    assert Query("x", legend).name({"__name__": "x", "connector": "shop", "state": "running"}) == name


@each_case(
    ("value", "unit", "expected"),
    [
        (0, "short", "0"),
        (1234, "short", "1.23 K"),
        (999.6, "ops", "1 K ops/s"),
        (99.95, "short", "100"),
        (25_000_000, "rowsps", "25 Mil rows/s"),
        (1024, "bytes", "1 KiB"),
        (1023.7, "bytes", "1 KiB"),
        (3 * 1024**3, "Bps", "3 GiB/s"),
        (0.0123, "s", "12.3 ms"),
        (-2.5, "s", "-2.5 s"),
        (250, "ms", "250 ms"),
        (0.125, "percentunit", "12.5 %"),
        (float("nan"), "s", "-"),
    ],
)
def test_numbers_are_written_in_the_panel_s_unit(value: float, unit: str, expected: str) -> None:
    assert written(value, unit) == expected


@pytest.mark.parametrize(
    ("value", "unit", "expected"), [(0, "bytes", 1), (900, "Bps", 1), (5000, "bytes", 1024), (5 * 1024**2, "Bps", 1024**2), (5000, "s", 1)]
)
def test_marks_of_bytes_are_round_in_their_prefix(value: float, unit: str, expected: float) -> None:
    assert scale(value, unit) == expected


def client(answer: Any, asked: list[dict[str, list[str]]] | None = None) -> httpx.Client:
    def handle(request: httpx.Request) -> httpx.Response:
        if asked is not None:
            asked.append(parse_qs(request.content.decode()))
        return httpx.Response(200, json=answer)

    return httpx.Client(transport=httpx.MockTransport(handle), base_url="http://prometheus")


def panel(kind: str = "timeseries", legend: str = "{{connector}}") -> Panel:
    return Panel(kind, "Lag", 0, 0, 12, 8, "bytes", (Query("lag", legend),))


def test_a_panel_has_the_series_of_its_queries() -> None:
    asked: list[dict[str, list[str]]] = []
    series = {"metric": {"connector": "shop"}, "values": [[100, "1"], [105, "2"]]}
    with client({"status": "success", "data": {"result": [series]}}, asked) as prometheus:
        assert lines_of(panel(), prometheus, 100, 105, 5) == [Line("shop", POINTS)]
    assert asked == [{"query": ["lag"], "start": ["100"], "end": ["105"], "step": ["5"]}]
    assert Line("shop", POINTS).last == 2


def test_a_refused_query_names_its_panel() -> None:
    refused = client({"status": "error", "error": "parse error"})
    with refused, pytest.raises(UnansweredError, match="The query of 'Lag' was refused: parse error"):
        lines_of(panel(), refused, 0, 1, 1)


def test_all_kinds_of_panels_are_drawn() -> None:
    buckets = [Line("0.1", ((100.0, 3.0), (105.0, 4.0))), Line("+Inf", ((100.0, 5.0), (105.0, 4.0)))]
    broken = Line("broken", ((90.0, 1.0), (95.0, 2.0), (100.0, float("nan")), (105.0, 3.0)))
    many = [Line(f"series {number}", POINTS) for number in range(8)]
    drawn = [
        (Panel("row", "State", 0, 0, 24, 1, "short", ()), []),
        *(
            (panel(kind), lines)
            for kind, lines in (("stat", many), ("table", many), ("timeseries", [*many[:7], broken]), ("timeseries", []))
        ),
        (panel("heatmap", "{{le}}"), buckets),
        (panel("heatmap", "{{le}}"), [Line("0.1", ((100.0, 0.0),))]),
    ]
    drawing = ET.fromstring(picture(drawn, "Under<study>"))
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("no data") == 2
    # The number of the stat, the rows of the table, the legend of the curves, and the bound of the only bucket that grows.
    assert {"Under<study>", "State", "2 B", "series 5: 2 B", "series 3 and 4 more", "100 ms"} <= {*texts}
    # Eight curves, one of them in two pieces, and the lines of the axis.
    curves = [element for element in drawing.iter("{http://www.w3.org/2000/svg}polyline") if element.get("stroke") != "#e8e8e8"]
    assert len(curves) == 9


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawing = tmp_path / "p.svg"
    assert command.main([str(tmp_path / "missing.json"), str(drawing)]) == 1
    assert "missing.json" in capsys.readouterr().err
    # Nothing listens there.
    assert command.main([str(BOARD), str(drawing), "--prometheus", "http://127.0.0.1:1"]) == 1
    assert capsys.readouterr().err == "No picture: The Prometheus at http://127.0.0.1:1 did not answer (ConnectError)\n"
    assert not drawing.exists()
