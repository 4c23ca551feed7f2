"""Patterns of routing steps are matched in linear time where RE2 can, else in a process with a time limit, and once for each topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from connector.configdef.options import Options
from connector.emulation import DEFAULT
from connector.errors import CdcError, ErrorKind
from connector.io.regex_process import BacktrackingProcess
from connector.plugins.allowed import NO_PLUGINS
from connector.record.connect_record import ConnectRecord
from connector.transforms.chain import Chain
from connector.transforms.routing_pattern import RoutingPattern
from connector.transforms.steps import make_steps

LONG = "x" * 200
OF_ROUTERS = {
    "RegexRouter": {"regex": "(x+x+)+y(?!z)", "replacement": "z"},
    "io.debezium.transforms.ByLogicalTableRouter": {"topic.regex": "(x+x+)+y(?!z)", "topic.replacement": "z"},
}


@pytest.fixture
def backtrack() -> Iterator[BacktrackingProcess]:
    made = BacktrackingProcess(limit=0.2)
    yield made
    made.close()


def pattern(source: str) -> RoutingPattern:
    return RoutingPattern(source, Options((), {}), "regex")


def test_repetitions_inside_repetitions_take_linear_time() -> None:
    nested = pattern("(x+x+)+y")
    assert not nested.matches(LONG)
    assert nested.replace_whole(f"{LONG}y", "$1!") == f"{LONG}!"


@pytest.mark.parametrize(
    ("source", "text", "replacement", "expected"),
    [
        ("a|ab", "ab", "<$0>", "<a>b"),
        ("(?<table>[^.]*)\\.(.*?)_(\\d*)", "shop.orders_17", "${table}-$2-$3-$0", "shop-orders-17-shop.orders_17"),
        ("(a|(b))*", "ba", "$1$2", "ab"),
        ("(a)?b", "b", "[$1]", "[]"),
        ("(?iu)Ä(.*)", "äß", "$1", "ß"),
        ("b", "ab", "c", None),
    ],
)
def test_groups_and_replacements_are_javas(source: str, text: str, replacement: str, expected: str | None) -> None:
    assert pattern(source).replace_whole(text, replacement) == expected


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [("(?!b).*(.)", "abc", "[c]"), ("(.)\\1", "aa", "[a]"), ("(a*)*", "aa", "[]"), ("(a.)$", "ab\n", None), ("(?s)a(.)$", "a\n", "[\n]")],
)
def test_other_patterns_are_matched_by_the_process(source: str, text: str, expected: str | None, backtrack: BacktrackingProcess) -> None:
    asked: list[Sequence[str]] = []

    def counting(patterns: Sequence[str], names: Sequence[str]) -> Sequence[Sequence[int]]:
        asked.append(names)
        return backtrack(patterns, names)

    routing = RoutingPattern(source, Options((), {}, backtrack=counting), "regex")
    assert [routing.replace_whole(text, "[$1]") for _ in range(2)] == [expected, expected]
    assert asked == [[text]]


@pytest.mark.parametrize("router", OF_ROUTERS)
def test_a_pattern_that_takes_too_long_fails_the_task_and_names_its_property(router: str, backtrack: BacktrackingProcess) -> None:
    options = OF_ROUTERS[router]
    config = {"transforms": "r", "transforms.r.type": router, **{f"transforms.r.{name}": value for name, value in options.items()}}
    chain = Chain(make_steps(config, DEFAULT, NO_PLUGINS, backtrack=backtrack))
    with pytest.raises(CdcError) as caught:
        chain.apply(ConnectRecord(LONG))
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert f"Property transforms.r.{next(iter(options))} holds '(x+x+)+y(?!z)', which takes too long" in caught.value.message
    made = chain.apply(ConnectRecord("xxy"))
    assert made is not None
    assert made.topic == "z"
