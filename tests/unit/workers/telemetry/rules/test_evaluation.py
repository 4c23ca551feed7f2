"""What is kept from one scrape to the next changes no answer."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest

from connector.ports import Backtracking, OutOfTimeError
from tests.support.jmx_rule_cases import BEANS, CASES
from workers.telemetry.mbean import Attribute, MBean
from workers.telemetry.rules.evaluation import RuleSet
from workers.telemetry.rules.pattern import compile_pattern
from workers.telemetry.rules.rule_file import RuleFileError, parse_rules
from workers.telemetry.rules.text_format import PROMETHEUS, write


def changed(value: Attribute) -> Attribute:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 3
        case str():
            return f"not {value}: 5"
        case dict():
            return {key: changed(part) for key, part in value.items()}
    return value


def text(rules: RuleSet, beans: Iterable[MBean]) -> bytes:
    return write(rules.families(beans), PROMETHEUS)


@pytest.mark.parametrize("name", CASES)
def test_a_second_scrape_is_as_a_first_one(name: str, backtrack: Backtracking) -> None:
    try:
        file = parse_rules(CASES[name], backtrack)
    except RuleFileError:
        return
    kept = RuleSet(file)
    text(kept, BEANS)
    later = [MBean(bean.domain, bean.keys, {key: changed(value) for key, value in bean.attributes.items()}) for bean in BEANS]
    assert text(kept, later) == text(RuleSet(file), later)


@pytest.mark.parametrize(
    "pattern",
    ["a<type=b><>([a-z-]+)", "a<type=b><>([^:]+)", r"a<type=(.+)><>(\w+)", "a<b><>([A-Za-z0-9]+)", "a<b><>([a-z-]+)-total"],
)
def test_patterns_that_no_value_can_change(pattern: str, backtrack: Backtracking) -> None:
    assert compile_pattern(pattern, backtrack).steady


@pytest.mark.parametrize(
    ("pattern", "gate"),
    [
        ("a<type=b><>status: (.+)", "a<type=b><>status"),
        ("a<type=b><>(.+): (.+)", None),
        ("a<type=b><>(.+)", None),
        ("a<type=b><>([0-z]+)", None),
        (r"a<type=b><>(\W+)", None),
        ("a<type=b><>x|y", None),
        (".*", None),
        ("count", None),
        ("a<type=b>?count", None),
        ("a(<type=b>)count", None),
        (r"a<type=b><>\Qcount\E", None),
    ],
)
def test_patterns_that_a_value_may_change(pattern: str, gate: str | None, backtrack: Backtracking) -> None:
    found = compile_pattern(pattern, backtrack)
    assert not found.steady
    assert (found.gate and found.gate.source) == gate


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"kafka\.connect<type=a, b=(.+)><>(c|d): (.+)", "kafka.connect<type=a, b="),
        ("kafka.connect<type=a><>([a-z]+)", "connect<type=a><>"),
        ("ab*cd", "cd"),
        ("abc?", "ab"),
        ("a{2}bc", "bc"),
        ("(?i)abc", ""),
        ("abc|def", ""),
        (r"\w+x", "x"),
        (r"\Qa.b\E", ""),
        ("[abc]d(efg)", "d"),
        ("[a[b]]cde", ""),
        ("", ""),
    ],
)
def test_text_that_every_match_contains(pattern: str, literal: str, backtrack: Backtracking) -> None:
    assert compile_pattern(pattern, backtrack).literal == literal


def test_a_pattern_without_end_matches_nothing() -> None:
    calls = []

    def exhausted(patterns: object, names: object) -> list[list[int]]:
        calls.append((patterns, names))
        raise OutOfTimeError(0)

    pattern = compile_pattern("(?=(x+x+)+y)x", exhausted)
    assert [pattern.match("x" * 40) for _ in range(2)] == [None, None]
    assert len(calls) == 1


def test_a_mbean_that_is_gone_is_forgotten(backtrack: Backtracking) -> None:
    rules = RuleSet(parse_rules("", backtrack))
    text(rules, BEANS)
    before = rules.evaluations
    text(rules, BEANS[:1])
    text(rules, BEANS)
    assert rules.evaluations > before


def test_a_scrape_of_a_thousand_tables_costs_little(backtrack: Backtracking) -> None:
    names = [f"public.table_{number}" for number in range(1000)]
    topics = [
        MBean(
            "kafka.producer",
            (("type", "producer-topic-metrics"), ("client-id", "p"), ("topic", name)),
            dict.fromkeys(map(str, range(9)), 1.0),
        )
        for name in names
    ]
    scanned = MBean(BEANS[-1].domain, BEANS[-1].keys, {"RowsScanned": dict.fromkeys(names, 7)})
    rules = RuleSet(parse_rules(CASES["catch all"], backtrack))
    text(rules, [*topics, scanned])
    began = time.process_time()
    text(rules, [*topics, scanned])
    # About 0.05 s; the bound leaves room for a busy machine.
    assert time.process_time() - began < 1
