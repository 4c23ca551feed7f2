"""Java's regular expressions mean here what they mean on a Java machine: recorded answers, and a property."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.catalog.name_matcher import NameMatcher
from connector.configdef.patterns import regex_problem
from connector.errors import CdcError, ErrorKind
from connector.java.regex.findings import Unsupported
from connector.java.regex.linear import LinearPattern
from connector.java.regex.matching import Pattern, each_match
from connector.java.regex.translation import LONGEST, too_long, translate
from tests.support.backtracking import backtrack
from tests.support.each_case import each_case

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "regex_recorded.json").read_text(encoding="utf-8"))
NAMES: list[str] = RECORDED["names"]

# What nothing here can match is refused with a sentence; docs/differences.md lists it.
NOT_MATCHED = re.compile(
    r"\\X|\\b\{g\}|\(\?[Uc]\)|\\p\{(In|java|blk=)|\\p\{Is(Latn|Alphabetic|Lowercase)\}|\(\?<[=!]|\\1\(a\)|\(a\\1\)|\(a\|b\\1\)", re.DOTALL
)


def is_supported(pattern: str, *, ignore_case: bool) -> bool:
    try:
        translate(pattern, ignore_case=ignore_case)
    except Unsupported:
        return False
    return True


def test_names_are_matched_as_java_matches_them() -> None:
    matched = 0
    for pattern, ignore_case, recorded in RECORDED["patterns"]:
        if isinstance(recorded, dict):
            continue
        if not is_supported(pattern, ignore_case=ignore_case):
            assert NOT_MATCHED.search(pattern), pattern
            continue
        matches = NameMatcher([pattern], "p", ignore_case=ignore_case, backtrack=backtrack)
        matches.learn(NAMES)
        assert [name for name in NAMES if matches(name)] == recorded, (pattern, ignore_case)
        matched += 1
    assert matched > 900


def test_patterns_that_java_refuses_have_its_message() -> None:
    refused = 0
    for pattern, _, recorded in RECORDED["patterns"]:
        # Java's optimizer decides whether a look-behind has a bound. Such a pattern is refused here with another message.
        if not isinstance(recorded, dict) or "Look-behind" in recorded["refused"] or pattern == r"\p{InFoo}":
            continue
        problem = regex_problem(pattern)
        assert problem is not None, pattern
        assert problem.splitlines()[0] == f"{recorded['refused']} near index {recorded['index']}".splitlines()[0]
        refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    "pattern",
    ["x{2000}", "(?:x{500}){4}", "(?!y).{2000}", r"x{1999}+x", "x{1000000000}|x{2000}"],
)
def test_counts_beyond_those_of_the_linear_engine(pattern: str) -> None:
    matches = NameMatcher([pattern], "p", backtrack=backtrack)
    assert matches("x" * 2000)
    assert not matches("x" * 1999)


def literal() -> st.SearchStrategy[str]:
    return st.sampled_from(["a", "b", "A", "1", "_", r"\.", ".", "[a-c]", "[^a]", "[a_1]", r"\w", r"\d", "x"])


PATTERNS = st.recursive(
    literal(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "+?"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        inner.map(lambda part: f"({part})"),
    ),
    max_leaves=12,
)


@given(PATTERNS, st.lists(st.text("abcAB1_.x", max_size=8), min_size=1, max_size=8))
def test_syntax_of_both_languages_matches_as_in_python(pattern: str, names: list[str]) -> None:
    matches = NameMatcher([pattern], "p")
    assert [matches(name) for name in names] == [re.fullmatch(pattern, name, re.ASCII | re.IGNORECASE) is not None for name in names]


@given(st.text("ab()[]{}|*+?\\^$.,-&<>=!:QEpPkxu0123i", max_size=20))
def test_any_text_is_read_or_refused(pattern: str) -> None:
    refused = None
    try:
        NameMatcher([pattern], "p", backtrack=backtrack)
    except CdcError as error:
        refused = error.kind
    assert refused in (None, ErrorKind.CONFIG_INVALID)


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 600 + "a" + ")" * 600,
        "[" * 5000 + "a" + "]" * 5000,
        "[" + "a&&" * 5000 + "a]",
        "(?=" * 200 + "a" + ")" * 200,
        "(a|" * LONGEST,
        r"\p{L}" * 10_000,
    ],
    ids=["groups", "classes", "intersections", "lookaheads", "length", "size"],
)
def test_what_is_too_large_is_refused_before_a_task_starts(pattern: str) -> None:
    problem = regex_problem(pattern)
    assert problem is not None
    assert "write" in problem
    with pytest.raises(CdcError, match=r"table\.include\.list") as reported:
        NameMatcher([pattern], "table.include.list")
    assert len(reported.value.message) < 500


def test_a_hundred_levels_are_allowed() -> None:
    assert NameMatcher(["(" * 100 + "a" + ")" * 100], "p")("a")


def test_many_plain_names_are_not_too_long() -> None:
    names = [f"public.orders_{number}" for number in range(10_000)]
    assert too_long(names) is None
    matches = NameMatcher(names, "table.include.list")
    assert matches("public.orders_9999")
    assert not matches("public.orders_10000")
    assert too_long([f"{name}.*" for name in names]) is not None


def test_an_unusable_pattern_is_reported_with_the_property() -> None:
    with pytest.raises(CdcError, match=r"^Property table\.include\.list holds .*cannot be matched: .*\\X"):
        NameMatcher([r"\X"], "table.include.list")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [("(a|ab){2}+c", "abac", None), ("(ab|a){2}+c", "abac", "abac"), ("(?:a|ab)++c", "abc", None), ("[ab]{2}+c", "abc", "abc")],
)
def test_no_turn_of_a_possessive_repetition_is_tried_again(pattern: str, text: str, found: str | None) -> None:
    match = Pattern.compile(pattern).program.match(text)
    assert (match and match[0]) == found


@pytest.mark.parametrize(
    ("pattern", "text", "replaced"),
    [("a*?", "aab", "-a-a-b-"), ("a*", "aab", "--b-"), ("|b", "ab", "-a-b-"), ("$", "a\n", "a-\n-")],
)
def test_matches_go_on_after_an_empty_one_as_in_java(pattern: str, text: str, replaced: str) -> None:
    assert Pattern.compile(pattern).replace_all(text, "-") == replaced


@each_case("pattern", ["(a|bc)+", "([a-z]+[.])+$", "^(a|b)*?c", "\\b(a|b)+\\b", "(a)|(b)", "(?<x>[^,]*),"])
@each_case("text", ["", "abc", "a.b.cd.", "éa.b c,", "😀abc,a b", "bcbca"])
def test_the_linear_engine_finds_the_same_parts(pattern: str, text: str) -> None:
    compiled, linear = Pattern.compile(pattern), LinearPattern.compile(pattern)
    assert linear is not None
    searched = linear.text(text)
    if searched is None:
        assert not text or (not text.isascii() and "b" in pattern)
        return
    found = [(each.start(), each.end(), each[0], each["g1"]) for each in each_match(text, lambda _, at: searched.search(at))]
    assert found == [(each.start(), each.end(), each[0], each["g1"]) for each in each_match(text, compiled.program.search)]
    whole, expected = searched.fullmatch(), compiled.program.fullmatch(text)
    assert (whole and (whole[0], whole["g1"])) == (expected and (expected[0], expected["g1"]))


@pytest.mark.parametrize("pattern", ["(?=a)b", "(a)\\1", "a++", "(a*)*", "a{2000}", "(?m)^a"])
def test_the_linear_engine_leaves_patterns_and_texts_to_the_other(pattern: str) -> None:
    linear = LinearPattern.compile(pattern)
    assert linear is None or linear.text("a\nb") is None
