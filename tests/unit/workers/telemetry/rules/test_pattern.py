"""The text that each match of a rule's pattern contains (:mod:`workers.telemetry.rules.pattern`)."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.ports import no_backtracking
from workers.telemetry.rules.pattern import compile_pattern

Piece = tuple[str, str]
"""A part of a pattern, and a text that it matches."""
ATOMS: st.SearchStrategy[Piece] = st.sampled_from(
    [
        *((char, char) for char in "kaf ,=_-<>:\"'"),
        *((re.escape(char), char) for char in "()[]{}.$^*+?|"),
        (r"\<", "<"),
        (".", "x"),
        ("[a-z.]", "b"),
        (r"[\]{(]", "("),
        ("[^>]", "c"),
        (r"\w", "w"),
        (r"\d", "7"),
        (r"\p{Alpha}", "a"),
        (r"\p{Lu}", "A"),
        (r"\pL", "z"),
        (r"\x6b", "k"),
        (r"\x{6b}", "k"),
        (r"\u006B", "k"),
        (r"\0153", "k"),
        (r"\t", "\t"),
    ]
)
QUANTIFIERS = st.sampled_from(
    [("", 1), ("?", 0), ("?", 1), ("*", 0), ("*", 2), ("+", 1), ("+?", 2), ("{1,3}", 1), ("{3,4}", 4), ("{2}", 2), ("{0,1}?", 0)]
)


def joined(pieces: list[Piece]) -> Piece:
    return "".join(pattern for pattern, _ in pieces), "".join(text for _, text in pieces)


@st.composite
def quantified(draw: st.DrawFn, atoms: st.SearchStrategy[Piece]) -> Piece:
    (pattern, text), (quantifier, times) = draw(atoms), draw(QUANTIFIERS)
    return pattern + quantifier, text * times


def grouped(pieces: st.SearchStrategy[Piece]) -> st.SearchStrategy[Piece]:
    parts = st.lists(quantified(pieces), min_size=1, max_size=3).map(joined)
    ways = st.sampled_from(["({})", "(?:{})", "({}|other)", "(other|{})"])
    return st.builds(lambda way, part: (way.replace("{}", part[0]), part[1]), ways, parts)


PIECES = st.recursive(ATOMS, grouped, max_leaves=5)


@given(st.lists(quantified(PIECES), min_size=1, max_size=6).map(joined), st.sampled_from(["", "kafka", "<>: 5"]))
def test_a_line_that_matches_has_the_text(piece: Piece, around: str) -> None:
    pattern = compile_pattern(piece[0], no_backtracking)
    line = f"{around}{piece[1]}{around}"
    assert replace(pattern, literal="").match(line) is not None
    assert pattern.match(line) is not None


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (r"\p{Alpha}+<type", "kafka<type"),
        ("[a-z.]{3,300}<t", "kafka.connect<t"),
        (r"\w{1,100}<", "kafka<"),
        (r"\x6bafka", "kafka"),
        (r"(\.(a)bc)?d", "d"),
    ],
)
def test_the_inside_of_quantifiers_and_escapes_is_no_text(source: str, line: str) -> None:
    assert compile_pattern(source, no_backtracking).match(line) is not None
