from __future__ import annotations

from collections.abc import Iterator

import pytest

from connector.catalog.name_matcher import NameMatcher
from connector.io.regex_process import BacktrackingProcess
from connector.ports import OutOfTimeError

ENDLESS = "(?:[a-z.]+)+(?=#)#"
"""Each letter of a name doubles its time."""


@pytest.fixture
def process() -> Iterator[BacktrackingProcess]:
    made = BacktrackingProcess(limit=0.1)
    yield made
    made.close()


def test_patterns_are_matched_with_all_names(process: BacktrackingProcess) -> None:
    assert process(["(?!audit).*", r"(?P<g1>a)(?P=g1)"], ["orders", "audit_log", "aa", "é"]) == [[0, 2, 3], [2]]
    assert process(["a"], []) == [[]]


def test_an_endless_match_is_stopped_and_the_next_call_is_answered(process: BacktrackingProcess) -> None:
    with pytest.raises(OutOfTimeError) as reported:
        process(["(?!x).*", ENDLESS, "b"], ["a" * 200])
    assert reported.value.pattern == 1
    assert process(["(?!x).*"], ["a", "x"]) == [[0]]


def test_only_who_asks_a_pattern_without_end_fails(process: BacktrackingProcess) -> None:
    bad = NameMatcher([r"([a-z.]+)+(?=#)#"], "table.include.list", backtrack=process)
    good = NameMatcher([r"public\.(?!audit).*"], "table.include.list", backtrack=process)
    with pytest.raises(Exception, match=r"table\.include\.list"):
        bad("public." + "a" * 200)
    assert good("public.orders")
    assert not good("public.audit_log")
