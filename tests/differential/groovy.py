"""Compare Groovy conditions with the real Groovy on random scripts and records: ``python -m tests.differential.groovy --groovy JARS``.

JARS are the jars of Groovy 4 and of groovy-jsr223, or folders with them. The jars of Kafka Connect are those that the quickstart fetched.
An answer is a value with its Java class, or an error. A script that is refused when the configuration is saved is counted only.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Container, Iterable
from random import Random
from typing import Any, Final

from connector.java.floats import as_float32
from connector.record.connect_record import ConnectRecord
from connector.transforms.scripting.groovy.lambdas import Lambda
from connector.transforms.scripting.groovy.program import Program
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import Array, GString, JavaMap, JavaSet, MapEntry, class_of
from connector.transforms.scripting.problem import EvaluationError, ScriptError
from tests.differential.groovy_records import random_records, record_json
from tests.differential.groovy_scripts import Script, random_script
from tests.differential.java_program import JavaProgram, MissingError, libraries, running

_BATCH: Final = 200
REFUSED: Final = "refused"
KINDS: Final = ("crash", "value", "fails here", "works here", REFUSED)
_MOST_SMALLER: Final = 10
_MOST_TRIED: Final = 60
_BYTES: Final = re.compile(r"(?:byte\[\]|HeapByteBuffer):|\[B@[0-9a-f]+|java\.nio\.HeapByteBuffer\[[^]]*\]")
"""The JSON that the records are made of has arrays of bytes; Debezium's records have buffers."""
_DOUBLE: Final = re.compile(r"-?\d+\.\d{6,}(?:E-?\d+)?|-?\d+\.\d+E-?\d+")
_FLOAT: Final = re.compile(r"Float:(-?\d+\.\d+(?:E-?\d+)?)")
_CRASH: Final = "!!"
_LONGEST_ANSWER: Final = 2000
_TOO_LONG: Final = "~"
"""The answer to a script that the real one takes too long for."""


def described(value: Any, depth: int = 0) -> str:
    """Return a value as the Java program describes its own."""
    if depth > 20:
        return "..."
    if value is None:
        return "null"
    if isinstance(value, Lambda):
        return "Closure"

    def inner(each: Any) -> str:
        return described(each, depth + 1)

    match value:
        case MapEntry(key, held):
            return f"Entry[{inner(key)}: {inner(held)}]"
        case list():
            kind = "Array" if isinstance(value, Array) else "Set" if isinstance(value, JavaSet) else "List"
            return f"{kind}[{', '.join(map(inner, value))}]"
        case JavaMap():
            return f"Map[{', '.join(f'{inner(key)}: {inner(held)}' for key, held in value.items())}]"
    return (
        f"{class_of(value).rpartition('.')[2].rpartition('$')[2]}:{str(value) if type(value) is GString else text_of(value, groovy=False)}"
    )


def ours(script: str, records: Iterable[ConnectRecord]) -> list[str] | None:
    """Return the answer for each record; None where the script is refused when the configuration is saved."""
    try:
        program = Program(script)
    except ScriptError:
        return None
    answers = []
    for record in records:
        try:
            answers.append(described(program.evaluate(record))[:_LONGEST_ANSWER])
        except EvaluationError as error:
            answers.append(f"!{error}")
        except Exception as error:  # noqa: BLE001 -- a finding: only EvaluationError is the record's
            answers.append(f"{_CRASH} {error!r}")
    return answers


def difference(real: list[str], own: list[str] | None) -> str | None:
    """Return the worst of :data:`KINDS` by which the answers differ; ``refused`` where only the real one takes the script."""
    if real == [_TOO_LONG]:
        return None
    compiles = not (real and real[0].startswith("?"))
    if own is None:
        return REFUSED if compiles and any(not answer.startswith("!") for answer in real) else None
    if not compiles:
        return "works here"
    kinds = [_kind(one, other) for one, other in zip(real, own, strict=True)]
    return next((kind for kind in KINDS if kind in kinds), None)


def _kind(real: str, own: str) -> str | None:
    if own.startswith(_CRASH):
        return "crash"
    if real.startswith("!") or own.startswith("!"):
        return None if real[0] == own[0] else "fails here" if own.startswith("!") else "works here"
    return None if _plain(real) == _plain(own) else "value"


def _plain(answer: str) -> str:
    # Before Java 19, Double.toString may print more digits than it takes to read the number back.
    answer = _FLOAT.sub(lambda found: f"Float:{as_float32(float(found[1]))!r}", _BYTES.sub("bytes", answer))
    return _DOUBLE.sub(lambda found: repr(float(found[0])), answer)


class Comparison:
    """The two engines with the same records."""

    def __init__(self, java: JavaProgram, records: list[ConnectRecord]) -> None:
        self._java = java
        self.records = records
        java.answers([{"records": [record_json(record) for record in records]}])

    def real(self, scripts: list[str]) -> list[list[str]]:
        """Return what Groovy answers."""
        return self._java.answers([{"script": script} for script in scripts])

    def smallest(self, script: Script, kind: str) -> Script:
        """Return the smallest script found that still differs in this way."""
        for _ in range(_MOST_SMALLER):
            tried = {each.text(): each for each in script.smaller() if len(each.text()) < len(script.text())}
            texts = sorted(tried, key=len)[:_MOST_TRIED]
            found = next(
                (text for text, real in zip(texts, self.real(texts), strict=True) if difference(real, ours(text, self.records)) == kind),
                None,
            )
            if found is None:
                break
            script = tried[found]
        return script


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
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
    at = next((at for at, (one, other) in enumerate(zip(real, own, strict=True)) if _kind(one, other) == kind), 0)
    print(f"    real {real[at]}\n    ours {own[at]}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
