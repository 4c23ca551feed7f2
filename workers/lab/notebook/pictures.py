"""The pictures of the page. The SVG files are equal for equal numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
"""Okabe and Ito's colours, which colour-blind people can distinguish."""
KINDS: Final = {"r": "r: read by the snapshot", "c": "c: insert", "u": "u: update", "d": "d: delete"}
_STYLE: Final = {
    # Without this the names of an SVG's parts are random.
    "svg.hashsalt": "understudy",
    # Text instead of outlines halves the size.
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def events_over_time(path: Path, counts: Iterable[tuple[int, str, int]], title: str) -> None:
    """Draw the events per second as bars, stacked by operation. ``counts``: second, Debezium's letter, number."""
    known = {(second, op): count for second, op, count in counts}
    seconds = range(max(second for second, _ in known) + 1)
    with rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 2.8), layout="constrained")
        axes = figure.subplots()
        below = [0] * len(seconds)
        for colour, (op, label) in zip(COLOURS, KINDS.items(), strict=False):
            heights = [known.get((second, op), 0) for second in seconds]
            if any(heights):
                axes.bar(seconds, heights, bottom=below, width=0.9, align="edge", color=colour, label=label)
            below = [low + height for low, height in zip(below, heights, strict=True)]
        axes.set(title=title, xlabel="time of commit, seconds from the first", ylabel="events per second")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        _save(figure, path)


def source_and_mirror(path: Path, source: Mapping[str, float], mirror: Mapping[str, float], title: str, labels: tuple[str, str]) -> None:
    """Draw two bars with values for each name: the source's, and the mirror's beside it. A side that lacks the name has no bar.

    ``labels`` are the labels of the axes: the kind of names, and the unit of the values.
    """
    names = list(dict.fromkeys([*source, *mirror]))
    width = 0.4
    with rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 2.8), layout="constrained")
        axes = figure.subplots()
        for at, (label, side) in enumerate((("source (PostgreSQL)", source), ("mirror (Delta)", mirror))):
            there = [(place + at * width, float(side[name])) for place, name in enumerate(names) if name in side]
            bars = axes.bar([place for place, _ in there], [value for _, value in there], width * 0.95, color=COLOURS[at], label=label)
            axes.bar_label(bars, fmt="{:,.10g}", padding=2, fontsize=8)
        axes.set(title=title, xlabel=labels[0], ylabel=labels[1])
        axes.set_xticks([place + width / 2 for place in range(len(names))], names)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.margins(y=0.12)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        _save(figure, path)


def timeline(path: Path, versions: Iterable[tuple[str, str, float, float | None]], until: float, title: str) -> None:
    """Draw a line for each row with a bar for each version. ``versions``: row, state, begin, end (in seconds; None: present version).

    Bars end at ``until`` at the latest.
    """
    bars = [(row, state, begin, until if end is None else min(end, until)) for row, state, begin, end in versions if begin < until]
    rows = list(dict.fromkeys(row for row, _, _, _ in bars))
    colours = dict(zip(dict.fromkeys(state for _, state, _, _ in bars), COLOURS, strict=False))
    with rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 0.9 + 0.24 * len(rows)), layout="constrained")
        axes = figure.subplots()
        for row, state, begin, end in bars:
            axes.barh(rows.index(row), end - begin, left=begin, height=0.7, color=colours[state], edgecolor="white", linewidth=0.8)
        axes.set(title=title, xlabel="time, seconds from the first version", xlim=(0, until))
        axes.set_yticks(range(len(rows)), rows)
        axes.invert_yaxis()
        legend = [Patch(color=colour, label=state) for state, colour in colours.items()]
        axes.legend(handles=legend, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    # Without the date and the program's version the file changes only if the picture does.
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
