"""Compares what two exporters show after the same workload: ``python -m tests.support.compare_counts theirs.txt ours.txt``.

``tests/support/equal_counts.yaml`` lists the series that must be equal, which can be replaced by ``--series``. The exit code is 0 when they
are. ``--keep`` writes the listed series of the first file to stdout, for a recording.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from prometheus_client.parser import text_string_to_metric_families

EQUAL: Final = Path(__file__).with_name("equal_counts.yaml")

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EqualCounts:
    """The series that must be equal, and groups of labels for which one need not be."""

    series: frozenset[str]
    only: Mapping[str, str]
    """Label → the pattern of its values; series with this label and another value need not be equal."""
    excused: Mapping[str, Sequence[Mapping[str, str]]]

    @classmethod
    def load(cls, file: Path = EQUAL) -> EqualCounts:
        """Read such a list."""
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
        return cls(frozenset(found["equal"]), found.get("only", {}), found.get("excused", {}))

    def holds(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the series with these labels must be equal."""
        if name not in self.series or any(not re.fullmatch(self.only[label], text) for label, text in labels.items() if label in self.only):
            return False
        return not any(labels.items() >= excuse.items() for excuse in self.excused.get(name, ()))

    def of(self, text: str) -> dict[tuple[str, Labels], float]:
        """Return the values of the listed series in an exposition."""
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if self.holds(sample.name, sample.labels)
        }

    def differences(self, theirs: str, ours: str) -> Iterator[str]:
        """Yield a line for each series that differs or that only one of the two has."""
        first, second = self.of(theirs), self.of(ours)
        for key in sorted(first.keys() | second.keys()):
            if first.get(key) != second.get(key):
                yield f"{shown(*key)} {first.get(key)} {second.get(key)}"


def shown(name: str, labels: Labels) -> str:
    """Return a series as Prometheus' text format shows it."""
    inner = ",".join(f'{label}="{text}"' for label, text in labels)
    return f"{name}{{{inner}}}"


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.compare_counts", description=__doc__)
    parser.add_argument("theirs", type=Path)
    parser.add_argument("ours", type=Path, nargs="?")
    parser.add_argument("--series", type=Path, default=EQUAL, help="a list like tests/support/equal_counts.yaml")
    parser.add_argument("--keep", action="store_true", help="write the listed series of the first file to stdout")
    chosen = parser.parse_args(arguments)
    counts = EqualCounts.load(chosen.series)
    theirs = chosen.theirs.read_text(encoding="utf-8")
    if chosen.keep:
        sys.stdout.writelines(f"{shown(*key)} {value}\n" for key, value in sorted(counts.of(theirs).items()))
        return 0
    if chosen.ours is None:
        parser.error("name the second file")
    lines = list(counts.differences(theirs, chosen.ours.read_text(encoding="utf-8")))
    sys.stdout.writelines(f"{line}\n" for line in (lines or [f"{len(counts.of(theirs))} series are equal"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
