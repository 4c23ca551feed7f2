"""The command ``python -m tests.differential.java_texts``.

The jars of Kafka Connect that the quickstart fetched have the JSON library of the Java program.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from random import Random
from typing import Final

from tests.differential import java_texts
from tests.differential.java_program import JavaProgram, MissingError, libraries, running
from tests.differential.java_texts.areas import AREAS

_BATCH: Final = 200


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.java_texts", description=java_texts.__doc__)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=2000, help="how many cases of each area")
    asked = parser.parse_args()
    try:
        with running("JavaTexts", [str(libraries("connect-4.3.0"))]) as java:
            found = [compare(java, area, asked.seed, asked.runs) for area in asked.areas]
    except MissingError as missing:
        sys.exit(str(missing))
    sys.exit(any(found))


def compare(java: JavaProgram, area: str, seed: int, runs: int) -> bool:
    """Print the first difference of each case, and the counts. Returns whether there are any."""
    make, differences = AREAS[area]
    counts: Counter[str] = Counter()
    for start in range(0, runs, _BATCH):
        random = Random(f"{area} {seed} {start}")
        cases = [make(random) for _ in range(min(_BATCH, runs - start))]
        for case, real in zip(cases, java.answers(cases), strict=True):
            found = next(differences(case, real), None)
            counts["equal" if found is None else "different"] += 1
            if found is not None:
                about = case.get("pattern", case.get("text", ""))
                replacement = f" by {case['replacement']!r}" if found[0].startswith("replaced") else ""
                print(f"{area} {about!r} {found[0]}{replacement}\n    real {found[1]!r}\n    ours {found[2]!r}", flush=True)  # noqa: T201
    print(f"{area}: " + ", ".join(f"{kind} {count}" for kind, count in counts.items()))  # noqa: T201
    return counts["different"] > 0


if __name__ == "__main__":
    main()
