"""The command ``python -m tests.differential.rest``."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from .call import Call, object_text
from .calls import compare as compare_calls
from .calls import is_intended as is_intended_call
from .calls import random_calls
from .configurations import CONNECTOR, Catalog
from .lifecycles import Lives, Side, random_life
from .loggers import answers, random_sequence
from .loggers import compare as compare_loggers
from .validations import Difference, Validations, own_plugins, random_cases

_SHOWN: Final = 600
_AREAS: Final = ("validate", "calls", "loggers", "lives")

Found = tuple[int, str, Difference]
"""The number of a run, what was sent, and the difference."""


def _validate(chosen: argparse.Namespace) -> Iterator[Found]:
    base = {
        "name": "fuzzrest-v",
        "connector.class": CONNECTOR,
        "topic.prefix": "p",
        "database.hostname": chosen.host,
        "database.port": str(chosen.port),
        "database.user": chosen.user,
        "database.password": chosen.password,
        "database.dbname": "postgres",
        "slot.name": "fuzzrest",
        "plugin.name": "pgoutput",
    }
    both = Validations(chosen.url, chosen.own_url, own_plugins(chosen.url, chosen.own_url))
    known: set[str] = set()
    for number, fields in random_cases(chosen.seed, chosen.runs, Catalog.of(chosen.url), base):
        for where, theirs, ours in both.differences(fields):
            sort = _sort(where, theirs, ours)
            if sort not in known:
                known.add(sort)
                part = both.reduced(fields, where)
                # A difference that does not come again is shown as it was found.
                again = [each for each in both.differences(part) if each[0] == where]
                yield number, object_text(part if again else fields), (again or [(where, theirs, ours)])[0]


def _calls(chosen: argparse.Namespace) -> Iterator[Found]:
    for number, call in random_calls(chosen.seed, chosen.runs):
        theirs, ours = call.send(chosen.url), call.send(chosen.own_url)
        for difference in compare_calls(theirs, ours):
            if not is_intended_call(call, theirs, ours):
                yield number, str(call), difference


def _loggers(chosen: argparse.Namespace) -> Iterator[Found]:
    for number in range(chosen.runs):
        before: list[str] = []
        for call in random_sequence(Random(f"{chosen.seed}/loggers/{number}"), f"fuzzrest.l{chosen.seed}.n{number}"):
            before.append(str(call))
            for difference in compare_loggers(*answers(call, chosen.url, chosen.own_url)):
                yield number, "; ".join(before), difference


def _lives(chosen: argparse.Namespace) -> Iterator[Found]:
    place = (chosen.host, chosen.port, chosen.user, chosen.password)
    lives = Lives((Side(chosen.url, "theirs", *place), Side(chosen.own_url, "ours", *place)))
    lives.prepare()
    try:
        for number in range(chosen.runs):
            life = random_life(Random(f"{chosen.seed}/life/{number}"))
            for at, difference in lives.play(life):
                yield number, "; ".join(map(str, life[: at + 1])), difference
    finally:
        lives.remove()


def _sort(*difference: Any) -> str:
    """The same for differences that probably have the same cause: a step's name and the values do not count."""
    return re.sub(r"\b(transforms|predicates)\.\S*\.|(?<=value ).*?(?= for )|'.*?'|\d+", "", json.dumps(difference, default=str))[:200]


def _cut(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def main() -> int:
    """The command; 1 if something differs that docs/differences.md does not describe."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.rest", description=__doc__)
    parser.add_argument(
        "--url", required=True, help="a Kafka Connect 4.3.0 with Debezium 3.6.3.Final or 3.7.0.Final, whose log and topics may be used"
    )
    parser.add_argument("--own-url", required=True, help="a worker of Understudy, whose connector.plugin.version is that of Debezium")
    parser.add_argument("--area", choices=_AREAS, action="append", help="what to compare; all if it is not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=200, help="how many cases of each area (default 200); a life takes some seconds")
    parser.add_argument("--host", default="127.0.0.1", help="PostgreSQL, as both workers reach it")
    parser.add_argument("--port", type=int, default=5432)
    parser.add_argument("--user", default="postgres", help="a superuser: lives have databases of their own")
    parser.add_argument("--password", default="")
    chosen = parser.parse_args()
    for url in (chosen.url, chosen.own_url):
        try:
            Call("GET", "/").send(url)
        except OSError as error:
            parser.error(f"no worker answers at {url}: {error}")
    count = 0
    for area, found in {"validate": _validate, "calls": _calls, "loggers": _loggers, "lives": _lives}.items():
        if area not in (chosen.area or _AREAS):
            continue
        for number, sent, (where, theirs, ours) in found(chosen):
            count += 1
            sys.stdout.write(f"{area} {number}, {where}\n  sent   {sent}\n  theirs {_cut(theirs)}\n  ours   {_cut(ours)}\n")
            sys.stdout.flush()
        sys.stdout.write(f"{area}: {chosen.runs} runs with seed {chosen.seed}\n")
    sys.stdout.write(f"{count} differences\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
