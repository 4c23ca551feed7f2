"""Scripts reach nothing but the record, and their work is bounded."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.transforms.scripting.groovy.program import Program
from connector.transforms.scripting.problem import EvaluationError, ScriptError
from tests.support.each_case import each_case
from tests.support.scripting_cases import scripts
from tests.support.scripting_records import RECORDS

SOON = 5.0
"""Seconds. The bounds allow much less; slow machines take more."""


@each_case(
    ("script", "problem"),
    [
        ("value.op ==", r"An expression is expected, but found the end of the script \(line 1, column 12\)"),
        ("value.op == 'c'\n&& value.after.frobnicate()", r"The method frobnicate is not known \(line 2, column 16\)"),
        ("values.op == 'c'", r"The variable values is not known \(line 1, column 1\)"),
        ("'a' + new Date()", r"'new' is not supported \(line 1, column 7\)"),
        ("System.exit(1)", r"The method exit is not known \(line 1, column 8\)"),
        ("'ls'.execute()", r"The method execute is not known \(line 1, column 6\)"),
        ("Runtime.runtime", "The variable Runtime is not known"),
        ("value.getClass().forName('x')", "The method forName is not known"),
        ("value.class.classLoader.loadClass('x')", "The method loadClass is not known"),
        ("Integer.forName('x')", r"The method Integer.forName is not known \(line 1, column 9\)"),
        ("evaluate('1')", "The method evaluate is not known"),
        ("value.__class__()", "The method __class__ is not known"),
        ("java.lang.System.out", "The variable java is not known"),
        ("import java.io.File", "'import' is not supported"),
        ("'abc' ==~ /(a/", "Regular expression"),
        ("value.op == 'c", r"String is not closed \(line 1, column 13\)"),
        ("(1 + 2", "'\\(' is not closed"),
        ("5 # 3", r"Character '#' is not expected here \(line 1, column 3\)"),
        ("a b", "The end of the statement is expected, but found 'b'"),
        ("1" * 2_000, "Malformed number"),
        ("(" * 200 + "1" + ")" * 200, "nested more than 50 deep"),
        ("[" * 200 + "]" * 200, "nested more than 50 deep"),
        ("!" * 200 + "true", "nested more than 50 deep"),
        ("-" * 1 + "- " * 200 + "1", "nested more than 50 deep|not supported"),
        ("if (true) " * 200 + "1", "nested more than 50 deep"),
        ("1" + "+1" * 200, "more than 100 operators in a row"),
        ("value" + ".x" * 200, "More than 100 properties"),
        ("'" + "x" * 70_000 + "'", "has 70002 characters and may have 65536"),
    ],
)
def test_what_is_not_known_is_refused_with_its_place(script: str, problem: str) -> None:
    with pytest.raises(ScriptError, match=problem):
        Program(script)


@pytest.mark.parametrize(
    "script",
    [
        "value.getClass().getClass()",
        "value.class.class",
        "topic.class.name",
    ],
)
def test_a_class_is_only_a_name(script: str) -> None:
    assert str(Program(script).evaluate(RECORDS["create"])).count("__") == 0


@each_case(
    "script",
    [
        "value.__class__",
        "topic.__class__",
        "value.row",
        "value.reader",
        "header.__init__.x",
        "topic.format",
        "value.schema.__class__",
        "valueSchema.fields[0].__dict__",
    ],
)
def test_attributes_of_python_are_no_properties(script: str) -> None:
    with pytest.raises(EvaluationError):
        Program(script).evaluate(RECORDS["create"])


@pytest.mark.parametrize(
    "script",
    [
        "'x' * 2000000000",
        "'x'.multiply(2000000000)",
        "'x'.padLeft(2000000000)",
        "[1] * 2000000000",
        "1..2000000000",
        "2 ** 2000000000",
        "2.5 ** 200000",
        "2.5.round(1000000000)",
        "2.5.round(-2000000)",
        "9G ** 2000",
        "def s = 'x'\nfor (i in 1..100) { s = s + s }",
        "def s = 'x'\nfor (i in 1..100) { s = \"$s$s\" }",
        "def l = [1]\nfor (i in 1..100) { l = l + l }",
        "def n = 3G\nfor (i in 1..100) { n = n * n }",
        "def n = 1.7\nfor (i in 1..100) { n = n * n }",
        "for (i in 1..90000) { for (j in 1..90000) { 1 } }",
        "(1..90000).each { (1..90000).each { 1 } }",
        "(1..90000).collect { (1..90000).toList() }",
        "def s = 'x' * 500000\ns.replace('x', 'xxxxxxxx')",
        "def s = 'x' * 500000\ns.replaceAll('x', 'xxxxxxxx')",
        "('x' * 100).replaceAll(/(x+)+(?=y)/, '')",
        "('x' * 100) =~ /(x|xx)+(?!x)y/",
        "('x' * 100).find(/(x+x+)+\\1y/)",
        "('x' * 100000).findAll(/(?=x)x*x*y/)",
        "1e9999 as int",
        "1e9999 as BigInteger",
        "1e9999.toBigInteger()",
        "def f = { it }\nf(1, 2, 3)",
        "[[1]].collect { l -> l << l; l.toString() }",
        "def l = [1]\nl << l\nl.toString()",
        "def l = [1]\nl << l\nl == l",
        "def l = [1]\nl << l\nl.flatten()",
        "(1..100).every { (1..90000) == (1..90000) }",
        "def l = (1..90000).toList()\n(1..100).every { -1 !in l }",
        "def l = (1..90000).toList()\n(1..100).every { !l.contains(-1) }",
        "def l = (1..90000).toList()\nl.intersect(l)",
        "def l = (1..90000).toList()\nl - l",
        "def l = (1..90000).toList()\nl.containsAll(l)",
        'def l = (1..300).toList()\n(1..90000).every { "$l" }',
        "def l = [0] * 90000\n(1..1000).collect { l * 1 }",
        "def l = [0] * 90000\n(1..1000).collect { [l] * 90000 }",
        "def m = (1..300).collectEntries { [it, it] }\n(1..9000).collectEntries { m }",
        "(1..300).collect { 'x'.repeat(999995) + it }",
        "(1..300).collect { 'x'.padLeft(999995) }",
        "def s = 'x' * 999999\n(1..90000).every { !s.contains('y') }",
        "def s = 'x' * 999999\ndef t = s + 'y'\n(1..90000).every { s < t }",
        "def s = 'x' * 999999\ndef t = s + 'y'\n(1..90000).every { s != t }",
        "def s = 'x' * 999999\ndef l = [s + 'y'] * 90000\nl.contains(s + 'z')",
        "def s = 'x' * 700\n(1..90000).every { !s.find(/x*x*y/) }",
        "def s = 'x' * 999999\n(1..9000).every { s.hashCode() != 1 }",
        "def s = 'x' * 999999\ndef t = s + 'y'\n(1..9000).every { s.compareTo(t) != 0 }",
        "def s = 'ä' * 999999\n(1..9000).every { s.length() > 0 }",
        "def s = 'x y' * 300000\n(1..9000).every { s.tokenize().size() > 0 }",
        "def s = 'xX' * 400000\n(1..90000).every { s.equalsIgnoreCase(s) }",
        "def s = 'x' * 999999\n(1..90000).every { s.collect { it }.size() > 0 }",
        "def s = 'x' * 999999\n(1..90000).every { s.toList().size() > 0 }",
        "def l = ['x' * 999999] * 90000\n\"$l\"",
        "def l = ['x' * 999999] * 90000\nl.join(',')",
        "def l = (1..90000).toList()\n(1..90000).every { l.any() && l.every() }",
        "def l = (1..90000).toList()\n(1..90000).every { l.sum() > 0 }",
        "def l = (1..90000).toList() as Set\n(1..90000).every { l == (l + [0]) }",
        "def m = [a: (1..90000).toList()]\n(1..90000).every { m == [a: (1..90000).toList()] }",
        "def s = 'x' * 999999\n(1..9000).every { !s.find(/(x+x+)+y/) }",
        # Each takes a second or more until a bound ends it.
        pytest.param("('x' * 999999).findAll(/(x+z|x)+?/)", marks=pytest.mark.long),
        pytest.param("def s = 'x y' * 300000\n(1..9000).every { s.split('y').size() > 0 }", marks=pytest.mark.long),
        pytest.param("def s = 'x' * 23\n(1..90000).every { !s.find(/(x+x+)+y/) }", marks=pytest.mark.long),
    ],
)
def test_no_script_works_without_end(script: str) -> None:
    started = time.thread_time()
    with pytest.raises(EvaluationError):
        Program(script).evaluate(RECORDS["create"])
    assert time.thread_time() - started < SOON


@each_case(
    "script",
    [
        "5 in 1..1000000000",
        "(1..9000).every { it in 1..1000000000 }",
        "(1..9000).every { it in [3, 5, it] }",
        "(1..5000).toList().contains(4999)",
        "def l = (1..200).toList()\n!l.disjoint(l) && l - l == []",
        "def s = 'x' * 900000\n(1..20).every { s.toLowerCase().contains('x') }",
        "(1..900).collect { 'x' * 1000 }.sum().size() > 1",
        "def s = 'x' * 900000\n(1..500).every { s.contains('x') }",
        "def s = 'ä' * 900000\n(1..50).every { s.length() == 900000 && s.contains('ä') }",
        "def s = ''\nfor (i in 1..5000) { s = s + 'x' }\ns.size() == 5000",
        "def l = []\nfor (i in 1..2000) { l = l + i }\nl.size() == 2000",
        "def l = []\nfor (i in 1..20000) { l << i }\nl.size() == 20000",
        "def s = 'x' * 300\n(1..50).every { s.find(/(x*)(x*)z?/) }",
    ],
)
def test_usual_work_is_within_the_limits(script: str) -> None:
    assert Program(script).evaluate(RECORDS["create"]) is True


def test_a_number_of_many_digits_is_rounded() -> None:
    assert Program("1234567890123456789012345678901234567.895.round(2) == 1234567890123456789012345678901234567.90").evaluate(
        RECORDS["create"]
    )


def test_a_linear_pattern_may_match_a_long_text() -> None:
    assert Program("('x' * 100000) ==~ /(x+x+)+/").evaluate(RECORDS["create"]) is True
    assert Program("('x' * 100000).matches('.*(y|z).*')").evaluate(RECORDS["create"]) is False


@each_case(
    ("script", "answer"),
    [
        ("('x' * 100).replaceAll(/(x+)+y/, '').size()", 100),
        ("(('x' * 100) =~ /(x|xx)+y/) ? 1 : 2", 2),
        ("('x' * 100000).findAll(/x*x*y/).size()", 0),
        ("('ab.cd.' * 10).replaceAll(/([a-z]+[.])+/, '<$1>')", "<cd.>"),
        ("('é' + 'ab.cd.' * 9 + ' ef.').findAll(/([a-z]+[.])+/)[1]", "ef."),
        ("('😀foo' * 20).replaceAll(/(foo|bar)+/, '-').size()", 60),
        ("('a,b' * 9).split(/(,|aa|bb)+/).size()", 10),
        ("def m = ('ab ba ' * 9) =~ /\\b(a|b)+\\b/\nm.count + m[1][1]", "18a"),
        ("def m = ('foobar' * 9) =~ /(?<word>foo|bar)+$/\nm.find() ? m.group('word') : ''", "bar"),
        ("def m = ('foobar' * 9) =~ /(foo|ba|bar)+/\nm.matches() ? m.group(1) : m.lookingAt()", "bar"),
        ("('foobar' * 9 + '\\n').find(/(foo|bar)+$/)", None),
        ("('é, ' * 2000).findAll(/\\p{L}\\s*,\\s*/).size()", 2000),
        # RE2's memory may be too small for an automaton of so many characters.
        ("('é' * 5000).findAll(/(\\p{L}{13},)+|\\p{L}/)", None),
    ],
)
def test_a_branching_pattern_is_found_in_a_long_text(script: str, answer: object) -> None:
    if answer is None:
        with pytest.raises(EvaluationError):
            Program(script).evaluate(RECORDS["create"])
    else:
        assert Program(script).evaluate(RECORDS["create"]) == answer


def test_an_error_tells_no_value() -> None:
    for script in ("value.after.name.nope", "value.after.name < 5", "value.after.name - null + 5 / 0", "value.after.name as int"):
        with pytest.raises(EvaluationError) as failed:
            Program(script).evaluate(RECORDS["create"])
        assert "Anna" not in str(failed.value)


@given(st.sampled_from(scripts()), st.sampled_from(scripts()), st.integers(0, 200), st.integers(0, 200), st.integers(0, 6))
def test_a_broken_script_is_refused_or_evaluated(one: str, other: str, start: int, length: int, dropped: int) -> None:
    script = one[:start] + other[start : start + length] + one[start + dropped :]
    try:
        program = Program(script)
    except ScriptError:
        return
    for record in RECORDS.values():
        with contextlib.suppress(EvaluationError):
            program.evaluate(record)
