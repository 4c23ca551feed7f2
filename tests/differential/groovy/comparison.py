"""Answers of Groovy conditions here and in Groovy, how they differ, and the smallest script of which they do.

An answer is a value with its Java class, or an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from connector.record.connect_record import ConnectRecord
from connector.transforms.scripting.groovy.lambdas import Lambda
from connector.transforms.scripting.groovy.program import Program
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import Array, GString, JavaMap, JavaSet, MapEntry, class_of
from connector.transforms.scripting.problem import EvaluationError, ScriptError
from tests.differential.groovy.records import record_json
from tests.differential.groovy.scripts import Script
from tests.differential.java_numbers import same_number
from tests.differential.java_program import JavaProgram

REFUSED: Final = "refused"
KINDS: Final = ("crash", "value", "fails here", "works here", REFUSED)
_MOST_SMALLER: Final = 10
_MOST_TRIED: Final = 60
_BYTES: Final = re.compile(r"(?:byte\[\]|HeapByteBuffer):|\[B@[0-9a-f]+|java\.nio\.HeapByteBuffer\[[^]]*\]")
"""The JSON that the records are made of has arrays of bytes; Debezium's records have buffers."""
_NUMBER: Final = re.compile(r"(\w+:)?(-?\d+\.\d+(?:E-?\d+)?)")
"""A number, and the class before it unless it is part of a text."""
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
    kinds = [kind_of(one, other) for one, other in zip(real, own, strict=True)]
    return next((kind for kind in KINDS if kind in kinds), None)


def kind_of(real: str, own: str) -> str | None:
    if own.startswith(_CRASH):
        return "crash"
    if real.startswith("!") or own.startswith("!"):
        return None if real[0] == own[0] else "fails here" if own.startswith("!") else "works here"
    return None if _same(real, own) else "value"


def _same(real: str, own: str) -> bool:
    real, own = (_BYTES.sub("bytes", answer) for answer in (real, own))
    if real == own:
        return True
    if _NUMBER.sub(r"\1", real) != _NUMBER.sub(r"\1", own):
        return False
    pairs = zip(_NUMBER.findall(real), _NUMBER.findall(own), strict=True)
    return all(
        one == other or (kind != "BigDecimal:" and same_number(one, other, single=kind == "Float:")) for (kind, one), (_, other) in pairs
    )


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
