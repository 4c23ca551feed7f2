"""Conditions in JavaScript: those of a machine with the engine, and the refusal without it."""

from __future__ import annotations

import sys

import pytest

from connector.configdef.options import OptionError
from connector.transforms.scripting.engine import engine_of
from connector.transforms.scripting.problem import EvaluationError
from tests.support.scripting_records import RECORDS

LANGUAGES = ("jsr223.graal.js", "jsr223.js")


def evaluated(script: str, record: str = "create") -> object:
    pytest.importorskip("py_mini_racer", reason="mini-racer is not installed (extra 'javascript')")
    return engine_of(LANGUAGES[0], script).evaluate(RECORDS[record])


def test_without_the_engine_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py_mini_racer", None)
    for language in LANGUAGES:
        with pytest.raises(OptionError, match=r"needs the package mini-racer.*pip install mini-racer=="):
            engine_of(language, "true")


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("value.op == 'c' && value.after.id > 5", True),
        ("value.after.tags.includes('big') ? 'big' : null", "big"),
        ("`orders-${value.after.region.toLowerCase()}`", "orders-eu"),
        ("value.after.level", "low"),
        ("value.before === null", True),
        ("header.kind.value", "last"),
        ("keySchema.name()", "shop.public.orders.Key"),
        ("valueSchema.field('op').name()", "op"),
        ("var wanted = 'c'; value.op == wanted", True),
        ("null", None),
        ("undefined", None),
    ],
)
def test_it_evaluates(script: str, answer: object) -> None:
    assert evaluated(script) == answer


def test_a_value_of_another_type_is_none_of_those() -> None:
    assert not isinstance(evaluated("5"), (bool, str, type(None)))


@pytest.mark.parametrize("script", ["value.op ==", "return true", "}{"])
def test_a_malformed_script_is_refused(script: str) -> None:
    with pytest.raises(OptionError, match="Failed to parse expression"):
        evaluated(script)


@pytest.mark.parametrize(
    "script",
    [
        "value.before.id",
        "nope",
        "throw new Error(value.after.name)",
        "while (true) {}",
        "var all = []; while (true) { all.push(new Array(1000).fill(1)) }",
        "(function again() { return again() })()",
    ],
)
def test_what_fails_for_a_record_is_an_error(script: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        evaluated(script)
    assert "Anna" not in str(failed.value)
