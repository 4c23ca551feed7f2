from __future__ import annotations

from collections.abc import Sequence

import pytest

from connector.catalog.name_matcher import LongForm, NameMatcher, include_exclude
from connector.errors import CdcError, ErrorKind
from connector.ports import OutOfTimeError
from tests.support.each_case import each_case

TABLES = ["public.orders", "public.lines", "sales.orders", "shop.orders", "public.my_table"]


class Engine:
    """Notes what it is asked, and matches nothing but ``a``."""

    def __init__(self, *, gives_up: bool = False) -> None:
        self.asked: list[tuple[list[str], list[str]]] = []
        self.gives_up = gives_up

    def __call__(self, patterns: Sequence[str], names: Sequence[str]) -> list[list[int]]:
        self.asked.append((list(patterns), list(names)))
        if self.gives_up:
            raise OutOfTimeError(len(patterns) - 1)
        return [[at for at, name in enumerate(names) if name == "a"] for _ in patterns]


@each_case(
    ("pattern", "matched"),
    [
        ("public.orders", ["public.orders"]),
        ("shop.public.orders", ["public.orders"]),
        (r"SHOP\.public\.orders", ["public.orders"]),
        (r"shop\.public\..*", ["public.orders", "public.lines", "public.my_table"]),
        (r"shop\.(public|sales)\.orders", ["public.orders", "sales.orders"]),
        (r".*\.public\.orders", ["public.orders"]),
        (r"[a-z]+\.sales\.[a-z]+", ["sales.orders"]),
        (r"other\.public\.orders", []),
        # These name schemas and tables: one that is called as the database changes nothing.
        (r"shop\..*", ["shop.orders"]),
        ("shop.orders", ["shop.orders"]),
        (r".*\.orders", ["public.orders", "sales.orders", "shop.orders"]),
        (r"[a-z]+\.public.*", []),
        ("public.my.table", ["public.my_table"]),
    ],
)
def test_names_of_tables_may_begin_with_the_database(pattern: str, matched: list[str]) -> None:
    matches = NameMatcher([pattern], "table.include.list", long_form=LongForm("shop", 2))
    assert [name for name in TABLES if matches(name)] == matched


def test_each_pattern_that_matches_nothing_is_named() -> None:
    patterns = ["public.orders", "none", "shop.sales.orders", "shop.none.orders", r"public\.[lm].*", "sales.*", "x.*"]
    matches = NameMatcher(patterns, "table.include.list", long_form=LongForm("shop", 2))
    assert matches.unused(TABLES) == ["none", "shop.none.orders", "x.*"]
    assert matches.unused([]) == patterns


def test_names_are_given_to_the_backtracking_engine_all_at_once_and_once_only() -> None:
    engine = Engine()
    matches = NameMatcher(["(?!x)a", "linear", "(?!y)b"], "p", backtrack=engine)
    matches.learn(["a", "b", "linear", "b"])
    assert [matches(name) for name in ("a", "b", "linear")] == [True, False, True]
    assert [names for _, names in engine.asked] == [["a", "b"]]
    assert len(engine.asked[0][0]) == 2


def test_a_pattern_that_takes_too_long_is_named_with_a_remedy_and_is_not_tried_again() -> None:
    engine = Engine(gives_up=True)
    matches = NameMatcher(["(?!x)a", "(b+)+(?!c)"], "table.include.list", backtrack=engine)
    for _ in range(2):
        with pytest.raises(CdcError, match=r"^Property table\.include\.list holds '\(b\+\)\+\(\?!c\)', which takes too long") as reported:
            matches("bbbb")
        assert reported.value.kind is ErrorKind.CONFIG_INVALID
        assert reported.value.remedy
    assert len(engine.asked) == 1


def test_without_an_engine_only_linear_patterns_are_matched() -> None:
    with pytest.raises(CdcError) as reported:
        NameMatcher(["(?!x)a"], "p")("a")
    assert reported.value.kind is ErrorKind.INTERNAL


def test_case_counts_where_it_is_asked_to() -> None:
    assert NameMatcher(["public.A"], "p", ignore_case=False)("public.A")
    assert not NameMatcher(["public.A"], "p", ignore_case=False)("public.a")


@pytest.mark.parametrize(
    ("include", "exclude", "wanted"),
    [([], [], ["a", "b"]), (["a"], [], ["a"]), ([], ["a"], ["b"]), (["a"], ["a"], ["a"])],
)
def test_an_include_list_goes_before_an_exclude_list(include: list[str], exclude: list[str], wanted: list[str]) -> None:
    selects = include_exclude(include, exclude, "message.prefix")
    assert [name for name in ("a", "b") if selects(name)] == wanted


def test_the_first_pattern_that_matches_is_found() -> None:
    names = ["s.a", "s.b1", "s.B2", "t.c", "t.d"]
    mixed = NameMatcher(["t.c", r"s\.b\d", "s.b1", "s.*"], "table.include.list")
    assert mixed.first(names) == {"t.c": 0, "s.b1": 1, "s.B2": 1, "s.a": 3}
    plain = NameMatcher(["t.c", "s.b1", r"s\.b2", "s.b1"], "table.include.list")
    assert plain.first(names) == {"t.c": 0, "s.b1": 1, "s.B2": 2}
    dots = NameMatcher(["s.a.c", r"t\.b\.c", "s.*"], "table.include.list")
    assert dots.first(["s.a_c", "s.a.c", "s.x", "t.b.c", "t.bxc"]) == {"s.a_c": 0, "s.a.c": 0, "t.b.c": 1, "s.x": 2}
    assert NameMatcher([], "table.include.list").first(names) == {}


def test_plain_names_are_found_without_the_engine_that_other_patterns_need() -> None:
    engine = Engine()
    listed = [f"s.t{number}" for number in range(100)]
    mixed = NameMatcher([*listed, "(?!s.t1)s.*"], "table.include.list", backtrack=engine)
    assert mixed.first(listed) == {name: at for at, name in enumerate(listed)}
    assert len(engine.asked) == 1
