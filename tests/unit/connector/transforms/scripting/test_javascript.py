"""Conditions in JavaScript: those of a machine with the engine, and the refusal without it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import Any

import pytest

from connector.configdef.options import OptionError
from connector.record.connect_record import ConnectRecord
from connector.record.schema import CONNECT_DATE, Field, Schema
from connector.transforms.scripting import javascript
from connector.transforms.scripting.engine import Engine, engine_of
from connector.transforms.scripting.problem import EvaluationError
from tests.support.each_case import each_case
from tests.support.scripting_records import RECORDS

LANGUAGES = ("jsr223.graal.js", "jsr223.js")
SHORT = 0.1
"""Seconds that a script may take where its end is what is tested, not how long it may take."""


def made(script: str) -> Engine:
    return engine_of(LANGUAGES[0], script)


def evaluated(script: str, record: str = "create") -> object:
    return made(script).evaluate(RECORDS[record])


def with_row(**fields: Any) -> ConnectRecord:
    record = RECORDS["create"]
    return replace(record, value={**record.value, "after": {**record.value["after"], **fields}})


def test_without_the_engine_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py_mini_racer", None)
    for language in LANGUAGES:
        with pytest.raises(OptionError, match=r"needs the package mini-racer.*pip install mini-racer=="):
            engine_of(language, "true")


@each_case(
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
        ("valueSchema.field('after').schema().name()", "shop.public.orders.Value"),
        ("valueSchema.field('after').schema().field('amount').schema().parameters().get('scale')", "2"),
        ("valueSchema.field('after').schema().field('level').schema().defaultValue()", "low"),
        ("valueSchema.field('after').schema().field('tags').schema().valueSchema().type() == 'STRING'", True),
        ("valueSchema.field('after').schema().field('attributes').schema().keySchema().type().getName()", "string"),
        ("valueSchema.fields().get(2).name() + valueSchema.fields()[2].index()", "source2"),
        ("valueSchema.field('nope') === null && valueSchema.doc() === null && valueSchema.parameters() === null", True),
        ("valueSchema.schema() === valueSchema && !valueSchema.isOptional() && valueSchema.version() == 2", True),
        ("header.kind.schema.type().name()", "STRING"),
        ("header.plain.schema === null && header.plain.value === null", True),
        ("value.after.tags.contains('big') && value.after.tags.size() == 3 && value.after.tags.get(0) == 'new'", True),
        ("value.after.tags.containsAll(['new']) && !value.after.tags.isEmpty()", True),
        ("value.after.attributes.get('color')", "red"),
        ("value.after.attributes.color", "red"),
        ("value.after.attributes.containsKey('size') && value.after.attributes.get('nope') === null", True),
        ("value.after.attributes.size() == 2 && value.after.attributes.keySet().contains('size')", True),
        ("value.after.attributes.entrySet()[0].getKey() + value.after.attributes.getOrDefault('nope', 'x')", "colorx"),
        ("value.after.made.getTime() == 1700000000123 && value.after.made > 1700000000000", True),
        ("value.after.made.before(new Date()) && value.after.made.after(new Date(0))", True),
        ("value.after.amount.doubleValue() == 12.5", True),
        ("value.after.tags.sort()[0]", "big"),
        ("Object.keys(value).join() + ('id' in value.after)", "before,after,source,op,ts_mstrue"),
        ("JSON.stringify(key)", '{"id":7}'),
    ],
)
def test_it_evaluates(script: str, answer: object) -> None:
    assert evaluated(script) == answer


@pytest.mark.parametrize("script", ["value.op ==", "return true", "}{"])
def test_a_malformed_script_is_refused(script: str) -> None:
    with pytest.raises(OptionError, match="Failed to parse expression"):
        evaluated(script)


@each_case(
    "script",
    [
        "value.before.id",
        "nope",
        "throw new Error(value.after.name)",
        "var all = []; while (true) { all.push(new Array(1000).fill(1)) }",
        "(function again() { return again() })()",
        "throw {}",
        "value.after.tags.get(7)",
        "valueSchema.valueSchema()",
        "value.op = 'x'; true",
        "value.after.id = 8; true",
        "delete value.after.id; true",
        "header.kind = 1; true",
        "Object.defineProperty(key, 'id', { value: 8 }); true",
    ],
)
def test_what_fails_for_a_record_is_an_error(script: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        evaluated(script)
    assert "Anna" not in str(failed.value)


def test_what_has_no_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = made("while (true) {}")
    monkeypatch.setattr(javascript, "_SECONDS", SHORT)
    with pytest.raises(EvaluationError, match=f"failed: it takes more than {SHORT} s for one record"):
        engine.evaluate(RECORDS["create"])


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("value.before.id", "The JavaScript expression failed: TypeError"),
        ("nope", "The JavaScript expression failed: ReferenceError"),
        ("throw new (class extends Error { name = value.after.name })", "The JavaScript expression failed: Error"),
        ("throw value.after.name", "The JavaScript expression failed: string"),
        ("value.after.id = 8", "The JavaScript expression changes the record"),
        pytest.param("while (true) {}", "The JavaScript expression failed: it takes more than 1 s for one record", marks=pytest.mark.long),
        (
            "for (var all = []; ; ) all.push(new Array(100000).fill(1))",
            "The JavaScript expression failed: it takes more than 64 MiB of memory",
        ),
    ],
)
def test_an_error_says_its_class_and_no_value(script: str, reason: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        evaluated(script)
    assert str(failed.value) == reason


@pytest.mark.parametrize(
    ("number", "script"),
    [
        (float("inf"), "value.after.price > 5 && value.after.price === Infinity"),
        (float("-inf"), "value.after.price < 5 && value.after.price === -Infinity"),
        (float("nan"), "value.after.price !== null && !(value.after.price >= 0) && isNaN(value.after.price)"),
    ],
)
def test_a_number_that_is_not_finite_stays_one(number: float, script: str) -> None:
    assert made(script).evaluate(with_row(price=number)) is True
    plain = ConnectRecord("t", None, None, None, {"after": {"price": number, "list": [number]}})
    assert made(f"{script} && value.after.list[0] === value.after.price || isNaN(value.after.price)").evaluate(plain) is True


def test_members_of_odd_names_are_members() -> None:
    odd = {"\0": ["number", "5"], "__proto__": {"a": 1}, "get": 2}
    script = "value['\\0'][1] == '5' && value['__proto__'].a == 1 && value.get == 2 && Object.keys(value).length == 3"
    assert made(script).evaluate(ConnectRecord("t", None, None, None, odd)) is True


def test_a_date_is_one_of_java() -> None:
    schema = Schema("struct", fields=(Field("day", Schema("int32", name=CONNECT_DATE, version=1)),))
    record = ConnectRecord("t", None, None, schema, {"day": 19_000})
    assert made("value.day.getTime() == 19000 * 86400000").evaluate(record) is True


def test_half_a_surrogate_pair_is_a_text() -> None:
    assert made("value.after.name.substring(0, 1)").evaluate(with_row(name="\U0001f600")) == "\ud83d"


@pytest.mark.parametrize(
    "script",
    [
        "if (value.after.id < 0) Promise.resolve().then(() => { while (true) {} }); value.op == 'c'",
        "if (value.after.id < 0) (() => {})['con' + 'structor']('new Pro' + 'mise(go => go()).then(() => { for (;;) {} })')(); true",
        "if (value.after.id < 0) while (true) {} value.op == 'c'",
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_runs_after_the_script_is_ended_too(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = made(script)
    assert engine.evaluate(with_row(id=1)) is True
    with monkeypatch.context() as shorter:
        shorter.setattr(javascript, "_SECONDS", SHORT)
        with pytest.raises(EvaluationError, match=f"takes more than {SHORT} s for one record"):
            engine.evaluate(with_row(id=-1))
    assert engine.evaluate(with_row(id=1)) is True


@pytest.mark.parametrize(
    "script", ["new Uint8Array(1 << 30)", "new ArrayBuffer(8)", "new WebAssembly.Memory({ initial: 9 })", "setTimeout(() => 1, 1)"]
)
def test_what_no_limit_counts_is_not_there(script: str) -> None:
    with pytest.raises(EvaluationError, match="failed: TypeError"):
        evaluated(script)


def test_a_value_of_another_type_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="gives a value of type number, and neither a Boolean nor a String"):
        evaluated("value.after.id")


def test_long_bytes_and_lists_of_the_record_fill_no_memory() -> None:
    schema = Schema("struct", fields=(Field("data", Schema("bytes")), Field("list", Schema("array", items=Schema("bytes")))))
    record = ConnectRecord("t", schema, {"data": b"\x00\xff", "list": [b"\x01"]}, schema, {"data": b"\xff" * 5_000_000, "list": [b"\x01"]})
    script = (
        "key.data[1] === 255 && key.data.length === 2 && key.data === key.data && value.list[0][0] === 1 && Object.keys(value).length === 2"
    )
    assert made(script).evaluate(record) is True
    assert made("JSON.stringify(value)").evaluate(replace(record, value=record.key)) == '{"data":[0,255],"list":[[1]]}'
    assert made("value[0] === 120").evaluate(ConnectRecord("t", None, None, Schema("bytes"), b"x")) is True
    with pytest.raises(EvaluationError, match="changes the record"):
        made("value.data = 1; true").evaluate(record)


def test_half_a_surrogate_pair_and_deep_nesting_of_the_record_are_values() -> None:
    assert made("value.after.name === '\\ud83d'").evaluate(with_row(name="\ud83d")) is True
    nested: dict[str, Any] = {"b": 1}
    for _ in range(300):
        nested = {"a": nested}
    assert made("value.a.a.a.b === undefined").evaluate(ConnectRecord("t", None, None, None, nested)) is True


def test_the_schemas_of_a_record_that_cannot_be_written_come_with_the_next() -> None:
    engine = made("valueSchema.name()")
    schema = Schema("string", name="s")
    with pytest.raises(TypeError):
        engine.evaluate(ConnectRecord("t", None, None, schema, object()))
    assert engine.evaluate(ConnectRecord("t", None, None, schema, "x")) == "s"


def test_no_record_fails_because_of_those_before_it() -> None:
    engine = made("value.op == 'c'")
    for number in range(20):
        assert engine.evaluate(with_row(id=number, name="ж" * 2_000_000)) is True


def test_a_record_that_takes_too_much_fails_alone() -> None:
    engine = made("if (value.after.id < 0) { for (var all = []; ; ) all.push(new Array(100000).fill(1)) } value.op == 'c'")
    for _ in range(2):
        with pytest.raises(EvaluationError):
            engine.evaluate(with_row(id=-1))
        assert engine.evaluate(with_row(id=1)) is True


def test_it_works_beside_a_running_event_loop() -> None:
    async def evaluate() -> object:
        return evaluated("value.op == 'c'")

    assert asyncio.run(evaluate()) is True


def test_more_schemas_than_are_kept() -> None:
    engine = made("valueSchema.name()")
    for number in range(1_100):
        assert engine.evaluate(ConnectRecord("t", None, None, Schema("string", name=f"s{number}"), "x")) == f"s{number}"
