"""Compare converters with the original ones: ``python -m tests.differential.converters --seed N --runs M [AREA...]``.

The areas are those of :data:`tests.differential.converters.areas.AREAS`. The jars of Kafka Connect and of Debezium's connector are those
that the tests of the parity suite fetch, or ``--jars``; cloud-events needs Debezium 3.7.0, as Connect 4.3 cannot load 3.6.3's converter.
Confluent's converters are not in Maven Central: :mod:`tests.differential.converters.confluent` compiles them. The areas that need them are
compared when ``--confluent`` names the folders of their jars.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from random import Random
from typing import Final

from tests.differential.converters import apicurio, reading
from tests.differential.converters.areas import AREAS, NEED_CONFLUENT
from tests.differential.converters.cases import Case, compared, make_case
from tests.differential.converters.java_form import short
from tests.differential.converters.numbers import Floats, checked_floats
from tests.differential.java_program import JavaProgram, MissingError, libraries, running

OTHERS: Final = {"reading": reading.differences, "apicurio": apicurio.differences}
"""JSON that is read back, and the mapping to Avro of Apicurio's converter, whose jars ``--jars`` then names."""


def main() -> int:
    """Compare, and print the differences. Return 1 where there are any, 2 where something is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.converters", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("areas", nargs="*", choices=[[], *AREAS, *OTHERS], help="what is compared; by default all that can be")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1000, help="cases of each area")
    parser.add_argument("--shown", type=int, default=5, help="differences of each kind that are printed")
    parser.add_argument("--jars", nargs="*", help="folders with the jars of Kafka Connect and of Debezium's connector")
    parser.add_argument("--confluent", nargs="*", default=[], help="folders with the jars of Confluent's converters")
    asked = parser.parse_args()
    areas = asked.areas or [area for area in AREAS if asked.confluent or area not in NEED_CONFLUENT] + ["reading"]
    total = 0
    try:
        jars = asked.jars or [str(libraries("connect-4.3.0")), str(libraries("debezium-3.6.3.Final"))]
        with running("Converters", [*asked.confluent, *jars]) as program:
            floats = checked_floats(Random(asked.seed), program)
            for text, own in floats.wrong:
                sys.stdout.write(f"a number: own {own}, original {text}\n")
            total += len(floats.wrong)
            for area in areas:
                total += (_read if area in OTHERS else _compare)(area, asked, floats, program)
    except MissingError as problem:
        sys.stderr.write(f"Cannot compare: {problem}\n")
        return 2
    return 1 if total else 0


def _compare(area: str, asked: argparse.Namespace, floats: Floats, program: JavaProgram) -> int:
    found: Counter[str] = Counter()
    records = 0
    cases = (make_case(area, asked.seed, number, floats) for number in range(asked.runs))
    for case, answer in program.each(cases, Case.request):
        records += len(case.records)
        different = compared(case, answer)
        if different is None:
            continue
        kind = different.partition(":")[0]
        found[kind] += 1
        if found[kind] <= asked.shown:
            _show(area, _shrunk(case, program), program)
    sys.stdout.write(f"{area}: {asked.runs} cases, {records} records, {found.total()} differences {dict(found) or ''}\n")
    return found.total()


def _read(area: str, asked: argparse.Namespace, floats: Floats, program: JavaProgram) -> int:
    count = 0
    for count, different in enumerate(OTHERS[area](asked.seed, asked.runs, floats, program), 1):
        if count <= asked.shown:
            sys.stdout.write(different + "\n")
    sys.stdout.write(f"{area}: {asked.runs} documents, {count} differences\n")
    return count


def _shrunk(case: Case, program: JavaProgram) -> Case:
    """Return a case of the first record that differs alone, or the case as it is."""
    for alone in case.single():
        if compared(alone, program.answers([alone.request()])[0]) is not None:
            return alone
    return case


def _show(area: str, case: Case, program: JavaProgram) -> None:
    lines = [f"--- {area} {case.number}: {case.choice.name} {json.dumps(case.choice.options)} {case.choice.side}"]
    lines += [f"  header {header.name} {header.value!r}" for header in case.headers]
    for schema, value in case.records:
        lines += [f"  schema {short(schema)}", f"  value {value!r}"]
    lines.append(f"  {compared(case, program.answers([case.request()])[0])}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
