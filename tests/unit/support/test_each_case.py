from __future__ import annotations

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


def test_a_test_keeps_its_name_and_is_called_without_arguments() -> None:
    @each_case("number", [1])
    def check(number: int) -> None:
        """Text."""
        assert number == 1

    assert (check.__name__, check.__doc__, check.__module__) == ("check", "Text.", __name__)
    check()
