"""The result of the comparison of a source table with its mirror, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workers.spark.compare.grid import aligned, cell
from workers.spark.source.lsn import lsn_text

SOURCE: Final = "source"
MIRROR: Final = "mirror"
BOTH: Final = "both"


@dataclass(frozen=True, slots=True)
class Difference:
    """A key that differs. ``cells`` are its values as text, in the order of :attr:`Verdict.key`; for a table without a key the row's.

    ``where`` says which side has the key. If both have it, ``columns`` names the differing columns; it is empty if only the number of
    rows (``in_source``, ``in_mirror``) differs. ``changing``: the key differed in another way at each comparison.
    """

    cells: Sequence[str | None]
    where: str
    columns: Sequence[str]
    in_source: int
    in_mirror: int
    changing: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for one table. ``absent`` names the side that lacks the table, if one does; then nothing was compared.

    ``source`` and ``mirror`` count the rows of each side at the first comparison, ``same`` those of the source that the mirror has too.
    ``only_source``, ``only_mirror`` and ``different`` count the keys (without a key: rows) that differ, ``changing`` those that still
    changed. ``columns``: column → number of keys in which it differs. ``keys`` has some of the keys, at most the requested number, and
    ``key`` the names of their cells. ``aside``: column → why it was not compared. ``position`` is the source's LSN at the last
    comparison, as a number. ``set_aside`` is the reason why the table's topic is set aside, if nothing of it is mirrored.
    """

    table: str
    key: Sequence[str] = ()
    keyed: bool = True
    source: int = 0
    mirror: int = 0
    same: int = 0
    only_source: int = 0
    only_mirror: int = 0
    different: int = 0
    changing: int = 0
    columns: Mapping[str, int] = field(default_factory=dict)
    keys: Sequence[Difference] = ()
    columns_only_source: Sequence[str] = ()
    columns_only_mirror: Sequence[str] = ()
    aside: Mapping[str, str] = field(default_factory=dict)
    position: int = 0
    absent: str | None = None
    set_aside: str | None = None

    @property
    def differing(self) -> int:
        """The number of keys that are not proven equal."""
        return self.only_source + self.only_mirror + self.different + self.changing

    @property
    def equal(self) -> bool:
        """Whether both sides have the table and everything compared is equal."""
        return self.absent is None and self.differing == 0

    def document(self) -> dict[str, object]:
        """The verdict as a JSON document."""
        return {
            "table": self.table,
            "equal": self.equal,
            "absent": self.absent,
            "setAside": self.set_aside,
            "position": lsn_text(self.position),
            "rows": {"source": self.source, "mirror": self.mirror, "same": self.same},
            "onlySource": self.only_source,
            "onlyMirror": self.only_mirror,
            "different": self.different,
            "changing": self.changing,
            "columns": dict(self.columns),
            "keys": [self._difference(difference) for difference in self.keys],
            "columnsOnlySource": list(self.columns_only_source),
            "columnsOnlyMirror": list(self.columns_only_mirror),
            "notCompared": dict(self.aside),
        }

    def _difference(self, difference: Difference) -> dict[str, object]:
        return {
            "key" if self.keyed else "row": dict(zip(self.key, difference.cells, strict=True)),
            "where": difference.where,
            "columns": list(difference.columns),
            "inSource": difference.in_source,
            "inMirror": difference.in_mirror,
            "changing": difference.changing,
        }


def verdict_text(verdict: Verdict) -> str:
    """The verdict for a terminal, several lines. Cells are cut as :mod:`workers.spark.compare.grid` does."""
    name = verdict.table
    if verdict.set_aside is not None:
        return f"{name}: not equal, it is not mirrored, its topic is set aside: {verdict.set_aside}"
    if verdict.absent is not None:
        return f"{name}: not equal, the {verdict.absent} has no such table"
    lines = [f"{name}: {'equal' if verdict.equal else _differ(verdict.differing, 'key' if verdict.keyed else 'row')}"]
    parts = [f"{verdict.source:,} rows in the source", f"{verdict.mirror:,} in the mirror"]
    if not verdict.equal:
        parts += [f"{verdict.same:,} the same"]
    lines.append(f"  {', '.join(parts)}")
    found = {
        "only in the source": verdict.only_source,
        "only in the mirror": verdict.only_mirror,
        "different": verdict.different,
        "still changing": verdict.changing,
    }
    if not verdict.equal:
        lines.append("  " + ", ".join(f"{label} {number:,}" for label, number in found.items() if number))
    if verdict.columns:
        lines.append("  columns that differ: " + ", ".join(f"{column} ({number:,})" for column, number in verdict.columns.items()))
    if verdict.columns_only_source:
        lines.append("  columns only in the source: " + ", ".join(verdict.columns_only_source))
    if verdict.columns_only_mirror:
        lines.append("  columns only in the mirror: " + ", ".join(verdict.columns_only_mirror))
    lines += [f"  not compared: {column} ({reason})" for column, reason in verdict.aside.items()]
    if verdict.keys:
        head = ["", *map(cell, verdict.key), "differs in"]
        body = [["  " + key.where, *map(cell, key.cells), _reported(key)] for key in verdict.keys]
        lines.append(aligned([head, *body]))
        if verdict.differing > len(verdict.keys):
            lines.append(f"  … and {verdict.differing - len(verdict.keys):,} more")
    return "\n".join(lines)


def summary_text(verdicts: Sequence[Verdict]) -> str:
    """A line for each table."""
    head = ["table", "source", "mirror", "only source", "only mirror", "different", "changing", ""]
    body = [[verdict.table, *_figures(verdict), "equal" if verdict.equal else "NOT EQUAL"] for verdict in verdicts]
    return aligned([head, *body])


def _differ(number: int, unit: str) -> str:
    return f"1 {unit} differs" if number == 1 else f"{number:,} {unit}s differ"


def _figures(verdict: Verdict) -> list[str]:
    if verdict.absent is not None:
        return ["no table" if verdict.absent == side else "" for side in (SOURCE, MIRROR)] + [""] * 4
    counts = (verdict.source, verdict.mirror, verdict.only_source, verdict.only_mirror, verdict.different, verdict.changing)
    return [f"{number:,}" for number in counts]


def _reported(key: Difference) -> str:
    """The remark on a key, beside its cells."""
    said = ", ".join(key.columns)
    if key.in_source > 1 or key.in_mirror > 1 or (key.where == BOTH and not key.columns):
        said = f"{key.in_source} rows in the source, {key.in_mirror} in the mirror"
    return f"{said} (still changing)".strip() if key.changing else said
