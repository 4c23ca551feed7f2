"""Conditions in Python."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace

import pytest

from connector.transforms.scripting.groovy.program import Program
from connector.transforms.scripting.problem import EvaluationError, ScriptError
from connector.transforms.scripting.python import PythonExpression
from tests.support.each_case import each_case
from tests.support.scripting_records import RECORDS


@each_case(
    ("script", "answer"),
    [
        ("value.op == 'c'", True),
        ("value.op == 'c' and value.after.id > 5 and not value.before", True),
        ("value['after']['id'] in [1, 7]", True),
        ("value.after.total in (7, 2)", True),
        ("value.after.level", "low"),
        ("value.source.schema", "public"),
        ("value.after.schema", "in a row"),
        ("value.after.amount > 12", True),
        ("value.after.amount + value.after.price == 14", True),
        ("value.after.attributes['color']", "red"),
        ("value.after.attributes.get('nope', 'none')", "none"),
        ("'color' in value.after.attributes", True),
        ("f'orders-{value.after.region.lower()}-{value.after.id}'", "orders-eu-7"),
        ("'eu' if value.after.region == 'EU' else None", "eu"),
        ("any(tag == 'big' for tag in value.after.tags)", True),
        ("[tag.upper() for tag in value.after.tags if tag]", ["NEW", "BIG"]),
        ("'-'.join(topic.split('.')[1:])", "public-orders"),
        ("matches('shop[.].*', topic)", True),
        ("header.kind.value", "last"),
        ("header.nope is None", True),
        ("key.id == 7 and valueSchema.version == 2", True),
        ("1 < value.after.id < 9", True),
        ("max(value.after.numbers) - 1", 2),
        ("-value.after.id // 2", -4),
        ("{'c': 'created'}.get(value.op)", "created"),
        (" value.after.made.time > 1700000000000 ", True),
        ("sum(value.after.numbers) + sum([1, 2], 3)", 12),
        ("sum([[1], [2]], [])", [1, 2]),
        ("'b' not in 'abc' or 4 in value.after.numbers or 'c' in {'c': 1}", True),
        ("all(matches('[a-z]+', tag) for tag in value.after.tags if tag)", True),
    ],
)
def test_it_evaluates(script: str, answer: object) -> None:
    assert PythonExpression(script).evaluate(RECORDS["create"]) == answer


@each_case(
    "script",
    [
        "value.op ==",
        "values.op",
        "().__class__",
        "value._row",
        "__import__('os')",
        "open('x')",
        "eval('1')",
        "getattr(value, 'op')",
        "(lambda: 1)()",
        "'a'.format(1)",
        "'a'.encode()",
        "2 ** 9",
        "1 << 9",
        "f'{value.op!r}'",
        "f'{value.op:>99999999}'",
        "(x := 1)",
        "[a for a in [1] for b in [2]]",
        "[a for a, b in [1]]",
        "min([1], key=len)",
        "print(*[1])",
        "x = 1",
        "import os",
        "b'a'",
        "1j",
        "{**{}}",
        "topic[::2]",
        "not " * 100 + "1",
        "'" + "x" * 70_000 + "'",
    ],
)
def test_what_is_not_known_is_refused(script: str) -> None:
    with pytest.raises(ScriptError):
        PythonExpression(script)


@each_case(
    "script",
    [
        "value.nope",
        "value.before.id",
        "topic.upper",
        "header.kind.schema.fields",
        "topic.get('id')",
        "value.op + 1",
        "1 / 0",
        "topic[99]",
        "'%999999999d' % 1",
        "'x' * 999999999",
        "[1] * 999999999",
        "('x' * 99999) * 99999",
        "'x'.replace('x', 'y' * 99999).replace('y', 'z' * 99999)",
        "int('9' * 5000)",
        "str(value)",
        "len(5)",
        "matches('(a+a+)+(?=b)', 'a' * 50)",
        "matches('(', 'a')",
        "[[b for b in [1] * 1000] for a in [1] * 1000]",
        "len([[0] * 100000 for x in [0] * 300])",
        "len(['x' * 99999 for x in [0] * 9000])",
        "len([topic * 900 + topic for x in [0] * 99999])",
        "len([('x' * 99999)[1:] for x in [0] * 9000])",
        "len([{1: [x] * 99999, 2: 0} for x in [0] * 9000])",
        "[[0] * 99999 == [0] * 99999 for x in [0] * 9000]",
        "['x' * 99999 < 'x' * 99998 + 'y' for x in [0] * 90000]",
        "[-1 in [0] * 99999 for x in [0] * 9000]",
        "['y' in 'x' * 99999 for x in [0] * 90000]",
        "['x' * 99999 in ['x' * 99998 + 'y'] * 9000 for x in [0] * 9000]",
        "[('x' * 99999).upper() for x in [0] * 90000]",
        "[('x ' * 9999).split() for x in [0] * 90000]",
        "[('x' * 99999).find('y') for x in [0] * 90000]",
        "[sorted(['x' * 9999] * 9000) for x in [0] * 9000]",
        "sum([[0]] * 50000, [])",
        "('x' * 99999).replace('x', 'x' * 99)",
        "('x' * 99999).replace('', 'x' * 99)",
        "[len(('x,' * 9999).split(',')) for x in [0] * 90000]",
        "[matches('(a|aa)+(?=b).*', 'a' * 23) for x in [0] * 9000]",
        "f'" + "{topic}" * 9000 + "' * 9",
    ],
)
def test_what_fails_for_a_record_is_an_error_soon(script: str) -> None:
    started = time.monotonic()
    with pytest.raises(EvaluationError) as failed:
        PythonExpression(script).evaluate(RECORDS["create"])
    assert time.monotonic() - started < 5
    assert "Anna" not in str(failed.value)


@pytest.mark.parametrize(
    ("kind", "script"),
    [
        (PythonExpression, "len(value.after.numbers) > 3 and bool(value.after.numbers) and value.after.numbers[0] == 1"),
        (PythonExpression, "value.after.name.strip().lower().startswith('x') and 'y' not in value.after.name.upper()"),
        (PythonExpression, "len(value.after.name.replace('x', 'y')) == 3000000 and len(value.after.name.split(',')) == 1"),
        (Program, "value.after.numbers.size() > 3 && !value.after.numbers.isEmpty() && value.after.numbers[0] == 1"),
        (Program, "value.after.name.trim().toLowerCase().startsWith('x') && !value.after.name.contains('y')"),
    ],
)
def test_long_lists_and_texts_of_the_record_are_asked_about(kind: type[PythonExpression | Program], script: str) -> None:
    record = RECORDS["create"]
    after = {**record.value["after"], "numbers": [1] * 200_000, "name": "x" * 3_000_000}
    assert kind(script).evaluate(replace(record, value={**record.value, "after": after})) is True


@pytest.mark.parametrize("kind", [PythonExpression, Program])
def test_lists_of_the_record_count_each_time_that_they_are_read(kind: type[PythonExpression | Program]) -> None:
    record = RECORDS["create"]
    long = replace(record, value={**record.value, "after": {**record.value["after"], "numbers": [1] * 90_000}})
    script = "[value.after.numbers for x in [0] * 900]" if kind is PythonExpression else "(1..900).collect { value.after.numbers }"
    with pytest.raises(EvaluationError, match="makes texts and lists of more than"):
        kind(script).evaluate(long)


@pytest.mark.parametrize(
    ("kind", "script"),
    [
        (PythonExpression, "f'" + "{value.after.name}" * 3_000 + "' == 'a'"),
        (Program, 'def t = value.after.name; "' + "$t " * 4_000 + '" == "a"'),
    ],
)
def test_a_text_that_is_too_long_is_not_joined(kind: type[PythonExpression | Program], script: str) -> None:
    record = RECORDS["create"]
    long = replace(record, value={**record.value, "after": {**record.value["after"], "name": "x" * 100_000}})
    expression = kind(script)
    tracemalloc.start()
    try:
        with pytest.raises(EvaluationError, match="makes a text of more than 1000000 characters"):
            expression.evaluate(long)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
