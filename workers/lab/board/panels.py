"""The panels of a board, read from Grafana's JSON model of dashboards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_LABEL: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Query:
    """A query of PromQL, and what its series are called."""

    expression: str
    legend: str

    def name(self, labels: Mapping[str, str]) -> str:
        """The name of a series with these labels. As in Grafana, a label that it lacks is empty."""
        if not self.legend:
            return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()) if name != "__name__")
        return _LABEL.sub(lambda found: labels.get(found[1], ""), self.legend)


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel. ``x`` and ``width`` are in twenty-fourths of the board's width; ``y`` and ``height`` in Grafana's units of 30 pixels."""

    kind: str
    title: str
    x: int
    y: int
    width: int
    height: int
    unit: str
    queries: tuple[Query, ...]


def panels_of(board: Mapping[str, Any], values: Mapping[str, str]) -> list[Panel]:
    """The board's panels, in its order. ``values`` are those of the variables in its queries, by name."""
    return [
        Panel(
            panel["type"],
            panel.get("title", ""),
            panel["gridPos"]["x"],
            panel["gridPos"]["y"],
            panel["gridPos"]["w"],
            panel["gridPos"]["h"],
            panel.get("fieldConfig", {}).get("defaults", {}).get("unit", "short"),
            tuple(Query(_filled(target["expr"], values), target.get("legendFormat", "")) for target in panel.get("targets", ())),
        )
        for panel in board["panels"]
    ]


def _filled(expression: str, values: Mapping[str, str]) -> str:
    # Longer names first: one may begin with another.
    for name in sorted(values, key=len, reverse=True):
        expression = expression.replace(f"${name}", values[name])
    return expression
