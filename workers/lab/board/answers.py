"""Asks a Prometheus for the series of a board's queries (Prometheus documentation, "HTTP API", range queries)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import httpx

from workers.lab.board.panels import Panel

_SECONDS: Final = 60.0


class UnansweredError(Exception):
    """The Prometheus could not be asked, or refused a query; the text says which."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series by its name in the legend: times (s since 1970) and values."""

    name: str
    points: tuple[tuple[float, float], ...]

    @property
    def last(self) -> float:
        """The newest value."""
        return self.points[-1][1]


def lines_of(panel: Panel, client: httpx.Client, begin: float, end: float, step: float) -> list[Line]:
    """The series of a panel between two times (s since 1970), a value each ``step`` seconds. Raises UnansweredError."""
    found = []
    for query in panel.queries:
        asked = {"query": query.expression, "start": str(begin), "end": str(end), "step": str(step)}
        try:
            answer: dict[str, Any] = client.post("/api/v1/query_range", data=asked, timeout=_SECONDS).json()
        except (httpx.HTTPError, ValueError) as error:
            raise UnansweredError(f"The Prometheus at {client.base_url} did not answer ({type(error).__name__})") from error
        if answer.get("status") != "success":
            raise UnansweredError(f"The query of {panel.title!r} was refused: {answer.get('error')}")
        for series in answer["data"]["result"]:
            points = tuple((float(time), float(value)) for time, value in series["values"])
            found.append(Line(query.name(series["metric"]), points))
    return found
