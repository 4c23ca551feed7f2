"""The command ``python -m tests.differential.groovy --groovy JARS``.

JARS are the jars of Groovy 4 and of groovy-jsr223, or folders with them. The jars of Kafka Connect are those that the quickstart fetched.
A script that is refused when the configuration is saved is counted only.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Container
from random import Random
from typing import Final

from tests.differential import groovy
from tests.differential.groovy.comparison import KINDS, REFUSED, Comparison, difference, kind_of, ours
from tests.differential.groovy.records import random_records
from tests.differential.groovy.scripts import random_script
from tests.differential.java_program import JavaProgram, MissingError, libraries, running

_BATCH: Final = 200


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.groovy", description=groovy.__doc__)
    parser.add_argument(
        "--groovy", nargs="+", required=True, metavar="JARS", help="jars of Groovy 4 and groovy-jsr223, or folders with them"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=2000, help="how many scripts")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=KINDS[:-1], help="which differences to show (default: all but refused)"
    )
    asked = parser.parse_args()
    try:
        with running("GroovyScripts", [*asked.groovy, str(libraries("connect-4.3.0"))]) as java:
            failed = compare(java, asked.seed, asked.runs, kinds=asked.kinds)
    except MissingError as missing:
        sys.exit(str(missing))
    sys.exit(failed)


def compare(java: JavaProgram, seed: int, runs: int, *, kinds: Container[str]) -> bool:
    """Print each difference once, and the counts. Returns whether there are any."""
    counts: Counter[str] = Counter()
    shown: set[str] = set()
    for start in range(0, runs, _BATCH):
        random = Random(f"{seed} {start}")
        comparison = Comparison(java, random_records(random))
        scripts = [random_script(random) for _ in range(min(_BATCH, runs - start))]
        for script, real in zip(scripts, comparison.real([each.text() for each in scripts]), strict=True):
            own = ours(script.text(), comparison.records)
            kind = difference(real, own)
            counts[kind or "equal"] += 1
            if kind is None or kind not in kinds:
                continue
            least = script if kind == REFUSED else comparison.smallest(script, kind)
            text = least.text()
            if text in shown:
                continue
            shown.add(text)
            _print(kind, text, comparison)
    print(", ".join(f"{kind}: {count}" for kind, count in counts.most_common()))  # noqa: T201
    return bool(set(counts) - {"equal", REFUSED})


def _print(kind: str, text: str, comparison: Comparison) -> None:
    [real] = comparison.real([text])
    own = ours(text, comparison.records)
    print(f"{kind}: {text!r}", flush=True)  # noqa: T201
    if own is None or len(real) != len(own):
        return
    at = next((at for at, (one, other) in enumerate(zip(real, own, strict=True)) if kind_of(one, other) == kind), 0)
    print(f"    real {real[at]!r}\n    ours {own[at]!r}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
