"""Draws a board's panels where Grafana would place them, as SVG (W3C, "Scalable Vector Graphics 1.1")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from xml.sax.saxutils import escape

from workers.lab.board.answers import Line
from workers.lab.board.panels import Panel
from workers.lab.board.units import scale, written

COLUMN: Final = 56
"""Pixels of a twenty-fourth of the width."""
ROW: Final = 30
"""Pixels of a unit of height."""
HEADING: Final = 44
GAP: Final = 8
"""Pixels between two panels."""
NAMES: Final = 4
"""The most names in a legend."""
ROWS: Final = 6
"""The most rows of a table."""
MARKS: Final = 4
"""About as many values are written at an axis."""
COLOURS: Final = ("#37872d", "#1f60c4", "#e0752d", "#c4162a", "#8f3bb8", "#b5850b", "#2596be", "#6b6b6b")
_STYLE: Final = (
    "text { font-family: sans-serif; font-size: 11px; fill: #444 } .b { font-weight: bold; fill: #222 } .m { text-anchor: middle }"
)


@dataclass(slots=True)
class _Sheet:
    """The elements so far."""

    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, text: str, kind: str = "", more: str = "") -> None:
        named = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}"{named}{more}>{escape(text)}</text>')

    def box(self, x: float, y: float, width: float, height: float, fill: str, more: str = "") -> None:
        self.parts.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" fill="{fill}"{more}/>')

    def path(self, points: Sequence[tuple[float, float]], colour: str, width: float = 1.3) -> None:
        at = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        self.parts.append(f'<polyline points="{at}" fill="none" stroke="{colour}" stroke-width="{width}"/>')


@dataclass(frozen=True, slots=True)
class _Area:
    """Where the values of a panel are drawn, in pixels, and what its edges stand for."""

    left: float
    top: float
    width: float
    height: float
    begin: float
    end: float
    low: float
    high: float

    def x(self, time: float) -> float:
        return self.left + (time - self.begin) / ((self.end - self.begin) or 1) * self.width

    def y(self, value: float) -> float:
        return self.top + self.height - (value - self.low) / ((self.high - self.low) or 1) * self.height


def picture(drawn: Sequence[tuple[Panel, Sequence[Line]]], title: str) -> str:
    """The panels with their series as the text of an SVG file. Pure."""
    width = 24 * COLUMN
    height = HEADING + max(panel.y + panel.height for panel, _ in drawn) * ROW
    sheet = _Sheet()
    sheet.box(0, 0, width, height, "#f4f5f5")
    sheet.text(GAP, HEADING / 2 + 6, title, "b", ' style="font-size:18px"')
    for panel, lines in drawn:
        _panel(sheet, panel, lines)
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    return "\n".join([opened, f"<style>{_STYLE}</style>", *sheet.parts, "</svg>", ""])


def _panel(sheet: _Sheet, panel: Panel, lines: Sequence[Line]) -> None:
    left, top = panel.x * COLUMN + GAP / 2, HEADING + panel.y * ROW + GAP / 2
    width, height = panel.width * COLUMN - GAP, panel.height * ROW - GAP
    if panel.kind == "row":
        sheet.text(left + 4, top + height / 2 + 4, panel.title, "b", ' style="font-size:14px"')
        return
    sheet.box(left, top, width, height, "white", ' stroke="#ddd"')
    sheet.text(left + 8, top + 16, panel.title, "b")
    middle = left + width / 2, top + height / 2 + 8
    if not lines:
        sheet.text(*middle, "no data", "m")
    elif panel.kind == "stat":
        sheet.text(*middle, written(lines[0].last, panel.unit), "m", ' style="font-size:26px;fill:#37872d"')
    elif panel.kind == "table":
        for at, line in enumerate(lines[:ROWS]):
            sheet.text(left + 8, top + 40 + 18 * at, f"{line.name}: {written(line.last, panel.unit)}")
    elif panel.kind == "heatmap":
        _heatmap(sheet, lines, (left, top, width, height))
    else:
        _curves(sheet, panel, lines, (left, top, width, height))


def _curves(sheet: _Sheet, panel: Panel, lines: Sequence[Line], place: tuple[float, float, float, float]) -> None:
    left, top, width, height = place
    legend = min(len(lines), NAMES)
    values = [value for line in lines for _, value in line.points if math.isfinite(value)]
    low, high = min([0.0, *values]), max([0.0, *values])
    of = scale(max(-low, high), panel.unit)
    marks = [of * mark for mark in _marks(low / of, high / of)]
    area = _area(lines, (left + 66, top + 28, width - 80, height - 54 - 14 * math.ceil(legend / 2)), marks[0], marks[-1])
    for mark in marks:
        sheet.path([(area.left, area.y(mark)), (area.left + area.width, area.y(mark))], "#e8e8e8", 1)
        sheet.text(area.left - 6, area.y(mark) + 4, written(mark, panel.unit), more=' text-anchor="end"')
    _times(sheet, area)
    for at, line in enumerate(lines):
        colour = COLOURS[at % len(COLOURS)]
        for piece in _pieces(line):
            sheet.path([(area.x(time), area.y(value)) for time, value in piece], colour)
        if at < NAMES:
            x, y = left + 10 + (at % 2) * (width - 20) / 2, top + height - 8 - 14 * (math.ceil(legend / 2) - 1 - at // 2)
            more = f" and {len(lines) - NAMES} more" if at == NAMES - 1 and len(lines) > NAMES else ""
            sheet.box(x, y - 7, 10, 4, colour)
            sheet.text(x + 14, y, line.name + more)


def _pieces(line: Line) -> list[list[tuple[float, float]]]:
    """The line without values that are no numbers, at which it is interrupted."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for point in line.points:
        if math.isfinite(point[1]):
            pieces[-1].append(point)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _heatmap(sheet: _Sheet, lines: Sequence[Line], place: tuple[float, float, float, float]) -> None:
    """Buckets from the lowest to the highest bound, as Grafana draws the differences between cumulative ones."""
    left, top, width, height = place
    ordered = sorted(lines, key=lambda line: float(line.name))
    times = sorted({time for line in ordered for time, _ in line.points})
    below = dict.fromkeys(times, 0.0)
    rows: list[tuple[float, list[float]]] = []
    for line in ordered:
        known = dict(line.points)
        counts = [max(0.0, known.get(time, 0.0) - below[time]) for time in times]
        below |= known
        if any(counts):
            rows.append((float(line.name), counts))
    if not rows:
        sheet.text(left + width / 2, top + height / 2 + 8, "no data", "m")
        return
    area = _area(ordered, (left + 66, top + 28, width - 80, height - 54), 0, len(rows))
    most = max(max(counts) for _, counts in rows)
    cell, tall = area.width / len(times), area.height / len(rows)
    for at, (bound, counts) in enumerate(rows):
        sheet.text(area.left - 6, area.y(at + 0.5) + 4, written(bound, "s"), more=' text-anchor="end"')
        for column, count in enumerate(counts):
            if count:
                opacity = f' fill-opacity="{0.15 + 0.85 * count / most:.2f}"'
                sheet.box(area.left + column * cell, area.y(at + 1), cell, tall, "#c45a00", opacity)
    _times(sheet, area)


def _area(lines: Sequence[Line], place: tuple[float, float, float, float], low: float, high: float) -> _Area:
    times = [time for line in lines for time, _ in line.points]
    return _Area(*place, min(times), max(times), low, high)


def _times(sheet: _Sheet, area: _Area) -> None:
    for at in range(MARKS):
        time = area.begin + (area.end - area.begin) * at / (MARKS - 1)
        anchor = ("start", "middle", "middle", "end")[at]
        sheet.text(
            area.x(time), area.top + area.height + 15, f"{datetime.fromtimestamp(time, UTC):%H:%M:%S}", more=f' text-anchor="{anchor}"'
        )


def _marks(low: float, high: float) -> list[float]:
    """Round values from ``low`` or less to ``high`` or more."""
    if low == high:
        high = low + 1
    rough = (high - low) / MARKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]
