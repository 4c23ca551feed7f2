from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from tests.support.each_case import each_case


def test_every_failing_case_is_named() -> None:
    seen: list[int] = []

    @each_case(("number", "wanted"), [(1, 1), pytest.param(2, 3, id="two"), (3, 3), (4, 5)], ids=lambda value: f"<{value}>")
    def check(number: int, wanted: int) -> None:
        seen.append(number)
        if number == 4:
            pytest.fail("four")
        assert number == wanted

    with pytest.raises(BaseExceptionGroup, match=r"2 of 4 cases failed: two, <4>-<5>") as caught:
        check()
    assert seen == [1, 2, 3, 4]
    assert [type(failure) for failure in caught.value.exceptions] == [AssertionError, pytest.fail.Exception]


def test_a_table_without_cases_fails() -> None:
    @each_case("number", [])
    def check(number: int) -> None:
        raise NotImplementedError

    with pytest.raises(AssertionError, match="there is no case"):
        check()


def test_a_case_that_is_skipped_hides_no_other() -> None:
    @each_case("number", [1, 2, 3])
    def check(number: int) -> None:
        if number == 2:
            pytest.skip("two")
        assert number == 3

    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed: 1, 2"):
        check()


def test_marks_that_would_have_no_effect_are_refused() -> None:
    with pytest.raises(AssertionError, match="a mark of one case has no effect"):
        each_case("number", [pytest.param(1, marks=pytest.mark.long)])

    @pytest.mark.long
    def check(number: int) -> None:
        raise NotImplementedError

    with pytest.raises(AssertionError, match="a mark below a table has no effect"):
        each_case("number", [1])(check)


def test_a_test_keeps_its_name_and_is_called_without_arguments() -> None:
    @each_case("number", [1])
    def check(number: int) -> None:
        """Text."""
        assert number == 1

    assert (check.__name__, check.__doc__, check.__module__) == ("check", "Text.", __name__)
    check()


async def test_a_coroutine_function_is_awaited_for_each_case() -> None:
    @each_case("number", [1, 2, 3])
    async def check(number: int) -> None:
        await asyncio.sleep(0)
        assert number == 2

    assert inspect.iscoroutinefunction(check)
    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed: 1, 3"):
        await check()


def test_the_names_of_cases_may_be_listed() -> None:
    @each_case("number", [1, 2], ids=["one", "two"])
    def check(number: int) -> None:
        assert number == 1

    with pytest.raises(BaseExceptionGroup, match="1 of 2 cases failed: two"):
        check()


@each_case("number", [1, 2])
def test_all_cases_have_the_same_fixtures(number: int, tmp_path: Path) -> None:
    place = tmp_path / "seen"
    place.write_text(f"{place.read_text() if number > 1 else ''}{number}")
    assert place.read_text() == "12"[:number]


def test_tables_may_be_combined() -> None:
    seen: list[tuple[str, int]] = []

    @each_case("letter", "ab")
    @each_case("number", [1, 2])
    def check(letter: str, number: int) -> None:
        seen.append((letter, number))
        assert (letter, number) != ("b", 1)

    with pytest.raises(BaseExceptionGroup, match="1 of 4 cases failed: b-1"):
        check()
    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


@each_case("letter", "ab")
@each_case("number", [1, 2])
async def test_combined_tables_may_have_fixtures(letter: str, number: int, tmp_path: Path) -> None:
    await asyncio.sleep(0)
    (tmp_path / f"{letter}{number}").mkdir()
    assert [(tmp_path / f"{each}1").is_dir() for each in "ab"] == [True, letter == "b"]
