from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.differential.java_texts.areas import (
    AREAS,
    dates_differences,
    numbers_differences,
    order_differences,
    properties_differences,
    regex_differences,
)


@pytest.mark.parametrize("area", AREAS)
def test_a_seed_gives_the_same_cases(area: str) -> None:
    make, _ = AREAS[area]
    made = [[make(random) for random in [Random(3)] for _ in range(20)] for _ in range(2)]
    assert made[0] == made[1]
    assert len({str(case) for case in made[0]}) > 15


def _regex(**answer: Any) -> list[str]:
    case = {"pattern": "(a)|b", "subjects": ["ab"], "replacement": "<$1>"}
    right = {"whole": None, "any case": False, "parts": [["a", "a"], ["b", None]], "replaced": "<a><>"}
    return [what for what, _, _ in regex_differences(case, {"answers": [{**right, **answer}]})]


def test_patterns_are_compared() -> None:
    assert _regex() == []
    assert _regex(whole=["ab", "a"]) == ["whole 'ab'", "whole, linear 'ab'", "whole of linear 'ab'"]
    assert _regex(parts=[["a", "a"]]) == ["parts 'ab'", "parts of linear 'ab'"]
    assert _regex(replaced="!") == ["replaced 'ab'"]
    refused = {"pattern": "(", "subjects": [], "replacement": ""}
    assert [*regex_differences(refused, {"refused": "Unclosed group near index 1\n("})] == []
    assert [what for what, _, _ in regex_differences(refused, {"refused": "Something else"})] == ["message"]
    assert [what for what, _, _ in regex_differences(refused, {"answers": []})] == ["refused here"]


def test_the_other_areas_are_compared() -> None:
    dates = {"pattern": "yyyy-MM-dd", "times": [0], "texts": ["1970-01-02"], "century": 0}
    assert [*dates_differences(dates, {"written": ["1970-01-01"], "read": [86_400_000]})] == []
    assert len([*dates_differences(dates, {"written": ["1970-01-02"], "read": [None]})]) == 2
    numbers = ["1", "1", "1", "1", "1", "4607182418800017408", "1065353216", "1 1 1 1", "1 1 1 1", "1.0", "1.0", "49", "1", ["1"]]
    assert [*numbers_differences({"texts": ["1"]}, [numbers])] == []
    assert [what for what, _, _ in numbers_differences({"texts": ["1"]}, [["2", *numbers[1:]]])] == ["byte '1'"]
    longer = [*numbers[:9], "1.00", *numbers[10:]]
    assert [what for what, _, _ in numbers_differences({"texts": ["1"]}, [longer])] == ["double written '1'"]
    assert [*properties_differences({"text": "a=b"}, {"read": {"a": "b"}})] == []
    assert len([*properties_differences({"text": "a=b"}, {"read": {"a": "c"}})]) == 1
    assert [*order_differences({"keys": ["b", "a"]}, ["a", "b"])] == []
    assert len([*order_differences({"keys": ["b", "a"]}, ["b", "a"])]) == 1
