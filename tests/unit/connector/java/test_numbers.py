"""Texts are numbers here when they are numbers to Java: recorded answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from connector.java.floats import java_double, java_float
from connector.java.numbers import NumberError, narrow_to_integer, parse_decimal, parse_double, parse_float, parse_integer, wrap
from tests.support.each_case import each_case

RECORDED: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "numbers_recorded.json").read_text(encoding="utf-8"))
READERS: Final[dict[str, Callable[[str], Any]]] = {
    "byte": lambda text: parse_integer(text, 8),
    "long": lambda text: parse_integer(text, 64),
    "float": lambda text: java_float(parse_float(text)).decode().strip('"'),
    "double": lambda text: java_double(parse_double(text)).decode().strip('"'),
}


@each_case("line", RECORDED["texts"], ids=lambda line: repr(line[0]))
def test_texts_are_read_as_java_reads_them(line: list[Any]) -> None:
    text, *answers = line
    for kind, answer in zip(RECORDED["kinds"], answers, strict=True):
        if isinstance(answer, dict):
            with pytest.raises(NumberError):
                READERS[kind](text)
        else:
            assert READERS[kind](text) == answer, kind


@pytest.mark.parametrize("text", ["\N{MATHEMATICAL DOUBLE-STRUCK DIGIT ONE}", "0\N{MATHEMATICAL DOUBLE-STRUCK DIGIT ONE}"])
def test_a_digit_of_two_utf16_units_is_none(text: str) -> None:
    for kind in ("byte", "long"):
        with pytest.raises(NumberError):
            READERS[kind](text)
    with pytest.raises(NumberError):
        parse_decimal(text)


def test_the_zeros_before_an_exponent_do_not_count() -> None:
    assert parse_decimal("1e00000000000001") == 10


def test_a_decimal_that_is_zero_has_no_sign() -> None:
    assert str(parse_decimal("-00.00")) == "0.00"


@pytest.mark.parametrize("parse", [parse_double, parse_decimal])
def test_many_digits_that_are_no_number_are_refused_at_once(parse: Callable[[str], object]) -> None:
    # Time that grows with the square of the digits would be more than a minute.
    with pytest.raises(NumberError):
        parse("1" * 100_000 + "x")


def test_a_zero_may_have_any_exponent() -> None:
    assert parse_float("0e99999999999999999999") == 0.0
    assert parse_float("-1e-99999999999999999999") == 0.0


def test_numbers_are_narrowed_as_java_narrows_them() -> None:
    assert wrap(300, 8) == 44
    assert wrap(-129, 8) == 127
    assert narrow_to_integer(float("nan"), 32) == 0
    assert narrow_to_integer(1e20, 64) == 2**63 - 1
    assert narrow_to_integer(-1e20, 64) == -(2**63)
    assert narrow_to_integer(1e20, 8) == -1
    assert narrow_to_integer(-1.9, 16) == -1
