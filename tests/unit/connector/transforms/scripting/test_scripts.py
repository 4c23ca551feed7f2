"""Groovy's scripts give what they give in Debezium: recorded answers, replayed."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.transforms.scripting import content_based_router
from connector.transforms.scripting import filter as filter_module
from connector.transforms.scripting.groovy.program import Program
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import class_of
from connector.transforms.scripting.problem import EvaluationError, ScriptError
from connector.transforms.transform import TransformDefinition
from tests.support.each_case import each_case
from tests.support.scripting_cases import OPTIONS, RECORDED, scripts
from tests.support.scripting_records import RECORDS

_RECORDED: Final[dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
ANSWERS: Final[dict[str, list[str]]] = _RECORDED["scripts"]
TRANSFORMED: Final[list[tuple[str, dict[str, str], list[str | None]]]] = _RECORDED["transforms"]
DEFINITIONS: Final[dict[str, TransformDefinition]] = {
    definition.name.rpartition(".")[2]: definition for definition in (*filter_module.DEFINITIONS, *content_based_router.DEFINITIONS)
}

# What Groovy runs and we refuse when the configuration is saved; docs/differences.md lists the kinds.
REFUSED: Final = frozenset((
    "value.op === 'c'",
    "null?.foo()",
    "{ -> 5 }()",
    "{ it }.call(3)",
    "def (a, b) = [1, 2]",
    "def x = 1, y = 2",
    "def f = { a = 5 -> a }; f()",
    "def x = 1; { -> x = 2 }(); x",
    "def m = [:]; m.a = 1; m",
    "while (false) {}",
    "try { 1 } catch (e) { 2 }",
    "import java.util.Date",
    "String f(x) { x }",
    "println 'x'",
    "assert true",
    "value.with { it }",
))  # fmt: skip

# Java's text of these names a place in memory.
_UNTOLD: Final = re.compile(r"\[Ljava|\[B@|^Matcher:")
# Only values of these classes have their classes compared, because a list's class is an inner one of Java.
_NUMBERS: Final = frozenset({"Integer", "Long", "Short", "Byte", "BigInteger", "BigDecimal", "Double", "Float"})
_COMPARED: Final = _NUMBERS | {"Boolean", "String", "GStringImpl", "Character", "Date", "Struct"}


def described(value: Any) -> str:
    return "null" if value is None else f"{class_of(value).rpartition('.')[2].rpartition('$')[2]}:{text_of(value, groovy=False)}"


def evaluated(program: Program, record: ConnectRecord) -> str:
    try:
        return described(program.evaluate(record))
    except EvaluationError:
        return "!"


def wanted(answer: str, found: str) -> str:
    if answer.startswith("!"):
        return "!"
    kind, _, text = answer.partition(":")
    return answer if kind in _COMPARED or answer == "null" else f"{found.partition(':')[0]}:{text}"


def test_the_recording_is_of_these_scripts() -> None:
    assert list(ANSWERS) == scripts()
    assert [(name, options) for name, options, _ in TRANSFORMED] == [(name, dict(options)) for name, options in OPTIONS]


@each_case("script", ANSWERS)
def test_a_script_gives_what_it_gives_in_debezium(script: str) -> None:
    answers = ANSWERS[script]
    if script in REFUSED:
        assert not all(answer.startswith("!") for answer in answers)
        with pytest.raises(ScriptError):
            Program(script)
        return
    try:
        program = Program(script)
    except ScriptError:
        # What fails for every record is refused at once.
        assert all(answer.startswith("!") for answer in answers)
        return
    assert len(answers) == len(RECORDS), "Groovy does not compile it"
    for record, answer in zip(RECORDS.values(), answers, strict=True):
        if not _UNTOLD.search(answer):
            found = evaluated(program, record)
            assert found == wanted(answer, found)


@each_case(("name", "options", "answers"), TRANSFORMED, ids=lambda each: str(each) if isinstance(each, str) else "")
def test_a_transform_does_what_it_does_in_debezium(name: str, options: dict[str, str], answers: list[str | None]) -> None:
    definition = DEFINITIONS[name]
    try:
        transform = definition.make(Options(definition.keys, options))
    except OptionError:
        assert len(answers) == 1
        return
    assert len(answers) == len(RECORDS)
    for record, answer in zip(RECORDS.values(), answers, strict=True):
        try:
            made = transform.apply(record)
        except DataError:
            assert answer is not None
            assert answer.startswith("!")
        else:
            assert (None if made is None else made.topic) == answer


def test_a_record_is_not_changed() -> None:
    record = RECORDS["create"]
    before = json.dumps(record.value, default=str)
    Program("value.after.numbers.sort(); value.after.numbers.add(5); value.after.tags << 'x'").evaluate(record)
    assert json.dumps(record.value, default=str) == before


def test_all_kinds_of_answers_were_recorded() -> None:
    reported = [answer for answers in ANSWERS.values() for answer in answers]
    assert len(ANSWERS) > 900
    assert {answer.partition(":")[0] for answer in reported} > _COMPARED - {"Byte"}
