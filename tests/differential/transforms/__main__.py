"""Compare transforms and predicates with those of Kafka Connect and Debezium, on random records and configurations.

    python -m tests.differential.transforms --seed 1 --runs 1000 DEBEZIUM_JARS

DEBEZIUM_JARS is the folder of the jars of Debezium's connector for PostgreSQL in the version that is compared. Each run is one
configuration with a few records; the seed and its number say which.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from operator import itemgetter

from connector.emulation import DEFAULT, EMULATIONS, emulation_of
from tests.differential.java_program import MissingError, libraries, running
from tests.differential.transforms.case import case
from tests.differential.transforms.comparison import differences
from tests.differential.transforms.understudy import Understudy


def main() -> int:
    """The command; 0 when nothing differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential.transforms", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("jars", help="the folder of Debezium's jars")
    parser.add_argument("--connect", help="the folder of Kafka Connect's jars; by default those that the quickstart fetched")
    parser.add_argument("--version", default=DEFAULT.version, choices=[each.version for each in EMULATIONS])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only-case", type=int, help="the number of the only case to run; it is shown in full")
    parser.add_argument("--transform", help="only transforms whose class name contains this")
    parser.add_argument("--most", type=int, default=20, help="how many differences are shown")
    options = parser.parse_args()
    numbers = range(options.runs) if options.only_case is None else [options.only_case]
    ours, shown, counts = Understudy(emulation_of(options.version)), 0, Counter[str]()
    try:
        with running("Transforms", [options.connect or str(libraries("connect-4.3.0")), options.jars]) as java:
            cases = ((number, case(options.seed, number, options.version, options.transform)) for number in numbers)
            for (number, asked), expected in java.each(cases, itemgetter(1)):
                counts["cases"] += 1
                counts["records"] += len(expected.get("records", ()))
                counts["records that pass"] += sum("topic" in each for each in expected.get("records", ()))
                actual = ours.answer(asked["config"], asked["records"])
                if options.only_case is not None:
                    sys.stdout.write(json.dumps({"case": asked, "expected": expected, "actual": actual}, indent=1) + "\n")
                for found in differences(asked["config"], expected, actual):
                    counts[re.sub(r" \d+|/.*", "", found.kind)] += 1
                    shown += 1
                    if shown <= options.most:
                        steps = {name: value for name, value in asked["config"].items() if name not in ("name", "connector.class")}
                        sys.stdout.write(
                            f"case {number}: {found.kind}\n  {steps}\n  expected {found.expected}\n  got      {found.actual}\n"
                        )
    except MissingError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    sys.stdout.write(f"{dict(counts)}\n")
    return 1 if shown else 0


if __name__ == "__main__":
    raise SystemExit(main())
