"""What is kept from one scrape to the next changes no answer."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.ports import Backtracking, OutOfTimeError, no_backtracking
from tests.support.each_case import each_case
from tests.support.jmx_rule_cases import BEANS, CASES
from workers.telemetry.exposition import load_rules
from workers.telemetry.mbean import Attribute, MBean, MBeanTable, separate
from workers.telemetry.rules.evaluation import RuleSet
from workers.telemetry.rules.family import printed, printed_all
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


def text(rules: RuleSet, beans: Iterable[MBean | MBeanTable]) -> bytes:
    return write(rules.families(beans), PROMETHEUS)


@each_case("name", CASES)
def test_a_second_scrape_is_as_a_first_one(name: str, backtrack: Backtracking) -> None:
    try:
        file = parse_rules(CASES[name], backtrack)
    except RuleFileError:
        return
    kept = RuleSet(file)
    text(kept, BEANS)
    later = [MBean(bean.domain, bean.keys, {key: changed(value) for key, value in bean.attributes.items()}) for bean in BEANS]
    assert text(kept, later) == text(RuleSet(file), later)


_VALUES: st.SearchStrategy[Attribute] = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from((0.5, 1e300, float("nan"), float("inf"))),
    st.sampled_from(("RUNNING", "7", "")),
    st.dictionaries(st.sampled_from("tuv"), st.one_of(st.none(), st.integers(0, 3), st.just("text"))),
    st.just([1]),
)
_BEANS = st.lists(
    st.builds(
        lambda topic, attributes: MBean("kafka.producer", (("type", "producer-topic-metrics"), ("topic", topic)), attributes),
        st.sampled_from("abc"),
        # A figure is a number or a truth value, never both. 1 and True are equal.
        st.builds(
            dict.__or__, st.dictionaries(st.sampled_from(("rate", "total", "Rows")), _VALUES), st.dictionaries(st.just("Is"), st.booleans())
        ),
    ),
    max_size=4,
)


def _here(patterns: Sequence[str], names: Sequence[str]) -> list[list[int]]:
    """Match in this process. The patterns of the cases end soon."""
    return [[place for place, line in enumerate(names) if re.fullmatch(pattern, line)] for pattern in patterns]


def cancel(rules: RuleSet, beans: Iterable[MBean | MBeanTable], done: int) -> None:
    """Begin a scrape that is cancelled after ``done`` of its steps."""
    steps = rules.steps(beans)
    for _ in zip(range(done), steps, strict=False):
        pass
    steps.close()


@given(scrapes=st.lists(st.tuples(_BEANS, st.integers(0, 12)), min_size=2, max_size=5), name=st.sampled_from(sorted(CASES)))
def test_kept_lines_are_those_of_a_first_scrape(scrapes: list[tuple[list[MBean], int]], name: str) -> None:
    try:
        file = parse_rules(CASES[name], _here)
    except RuleFileError:
        return
    kept = RuleSet(file)
    for beans, done in scrapes:
        cancel(kept, beans, done)
        assert text(kept, beans) == text(RuleSet(file), beans)
        assert text(kept, beans[1:]) == text(RuleSet(file), beans[1:])


_COLUMN = st.sampled_from((0.0, 0.5, 3.0, 1e300, 1e-5, 2.5e-7, float("nan"), float("inf"), float("-inf")))
_TABLES = st.builds(
    lambda topics, rows: MBeanTable(
        "kafka.producer",
        [(("type", "producer-topic-metrics"), ("topic", topic)) for topic in topics],
        {"rate": [rate for rate, _ in rows[: len(topics)]], "total": [total for _, total in rows[: len(topics)]]},
    ),
    st.sampled_from(("", "a", "ab", "abc", "bac", "aab")),
    st.lists(st.tuples(_COLUMN, _COLUMN), min_size=3, max_size=3),
)
_MIXED = st.tuples(st.lists(_TABLES, max_size=2), _BEANS).map(lambda found: [*found[0], *found[1][:2]])


@given(scrapes=st.lists(st.tuples(_MIXED, st.integers(0, 12)), min_size=2, max_size=6), name=st.sampled_from(sorted(CASES)))
def test_lines_of_tables_are_those_of_their_mbeans(scrapes: list[tuple[list[MBean | MBeanTable], int]], name: str) -> None:
    try:
        file = parse_rules(CASES[name], _here)
    except RuleFileError:
        return
    kept = RuleSet(file)
    for beans, done in scrapes:
        cancel(kept, beans, done)
        assert text(kept, beans) == text(RuleSet(file), separate(beans))


_ROWS = st.lists(st.tuples(_COLUMN, _COLUMN), min_size=3, max_size=3)
_STEPS = st.lists(st.tuples(_ROWS, st.integers(0, 5), st.sampled_from(("", "", "before", "behind"))), min_size=3, max_size=9)


@given(scrapes=_STEPS, name=st.sampled_from(sorted(CASES)))
def test_a_table_with_other_numbers_is_written_again(scrapes: list[tuple[list[tuple[float, float]], int, str]], name: str) -> None:
    try:
        file = parse_rules(CASES[name], _here)
    except RuleFileError:
        return
    kept = RuleSet(file)
    keys = [(("type", "producer-topic-metrics"), ("client-id", "p"), ("topic", topic)) for topic in "abc"]
    other = MBean("kafka.producer", (("type", "producer-metrics"), ("client-id", "p")), {"rate": 1.0})
    for rows, done, place in scrapes:
        table = MBeanTable("kafka.producer", keys, {"rate": [rate for rate, _ in rows], "total": [total for _, total in rows]})
        # With another MBean beside the table, the families are made again.
        beans: list[MBean | MBeanTable] = [table]
        if place:
            beans.insert(0 if place == "before" else 1, other)
        cancel(kept, beans, done)
        assert text(kept, beans) == text(RuleSet(file), separate(beans))


@given(st.lists(st.floats(), min_size=1))
def test_numbers_together_are_printed_as_alone(values: list[float]) -> None:
    assert printed_all(values) == [printed(value) for value in values]


@pytest.mark.parametrize(
    "pattern",
    ["a<type=b><>([a-z-]+)", "a<type=b><>([^:]+)", r"a<type=(.+)><>(\w+)", "a<b><>([A-Za-z0-9]+)", "a<b><>([a-z-]+)-total"],
)
def test_patterns_that_no_value_can_change(pattern: str, backtrack: Backtracking) -> None:
    assert compile_pattern(pattern, backtrack).steady


@each_case(
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


@each_case(
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
        (r"\p{Alpha}+<type", "<type"),
        ("[a-z.]{3,300}<t", "<t"),
        (r"\x6bafka", "afka"),
        (r"kafk{1,2}a\.connect", "a.connect"),
        (r"(\.x)connect", "connect"),
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


@pytest.mark.parametrize("name", ["debezium", "strimzi"])
def test_a_table_in_which_all_numbers_change(name: str) -> None:
    kept = RuleSet(load_rules(name, no_backtracking))
    names = {client: [(("type", "producer-topic-metrics"), ("client-id", client), ("topic", each)) for each in "abc"] for client in "pq"}
    nan = float("nan")
    # All numbers change, then some, then all, with a number in another form and with NaN, then none.
    for numbers in ([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [1.0, 5.0, 3.0], [2.0, 1e300, 0.5], [nan, nan, 1.0], [nan, nan, 1.0]):
        beans = [
            MBeanTable("kafka.producer", names["p"], {"record-send-rate": numbers, "byte-rate": [1.0, 1.0, 1.0]}),
            MBeanTable("kafka.producer", names["q"], {"record-send-rate": numbers[::-1], "byte-rate": numbers}),
        ]
        assert text(kept, beans) == text(RuleSet(load_rules(name, no_backtracking)), separate(beans))
