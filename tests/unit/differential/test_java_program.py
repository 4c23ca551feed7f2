from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from connector.java.floats import java_double, java_float
from tests.differential.converters.numbers import checked_floats
from tests.differential.java_numbers import same_number
from tests.differential.java_program import JavaProgram


class Numbers(JavaProgram):
    """Answers the texts of numbers as this project writes them, with ``others`` in place of some."""

    def __init__(self, others: dict[str, str]) -> None:
        self.others = others

    def answers(self, cases: Iterable[Any]) -> list[Any]:
        """Return the texts of the numbers of a single case."""
        (request,) = cases
        doubles = [java_double(*struct.unpack(">d", bytes.fromhex(bits))) for bits in request["doubles"]]
        singles = [java_float(*struct.unpack(">f", bytes.fromhex(bits))) for bits in request["singles"]]
        return [{name: [self._text(text) for text in texts] for name, texts in (("doubles", doubles), ("singles", singles))}]

    def _text(self, text: bytes) -> str:
        shown = text.decode().strip('"')
        return self.others.get(shown, shown)


def test_numbers_with_needless_digits_are_left_out_and_other_texts_are_differences() -> None:
    floats = checked_floats(Random(1), Numbers({"1.0E21": "1.0000000000000000E21", "1.0E22": "9.9999999999999999E21", "0.1": ".1"}))
    assert 1e22 not in floats.doubles
    assert 5e-324 in floats.doubles
    assert set(floats.wrong) == {("1.0000000000000000E21", "1.0E21"), (".1", "0.1")}


def test_every_case_has_its_answer_whatever_is_asked_between_two() -> None:
    cat = shutil.which("cat")
    assert cat is not None
    with subprocess.Popen([cat], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        program = JavaProgram(process)
        for case, answer in program.each(range(450), str):
            assert answer == str(case)
            if case % 100 == 0:
                assert program.answers(["between"]) == ["between"]
        process.terminate()


@pytest.mark.parametrize(
    ("java", "own", "single", "same"),
    [
        ("1.0E7", "1.0E7", False, True),
        ("2.0999999999999998E22", "2.1E22", False, True),
        ("3.45434959E15", "3.4543496E15", True, True),
        ("1.0E-323", "9.9E-324", False, True),
        ("1.794E-43", "1.8E-43", True, True),
        ("1.794E-43", "1.8E-43", False, False),
        ("2.0999999999999998E22", "2.2E22", False, False),
        ("1.0E7", "10000000.0", False, False),
        ("1.50", "1.5", False, False),
        ("2.1E22", "2.0999999999999998E22", False, False),
        ("NaN", "Infinity", False, False),
    ],
)
def test_only_needless_digits_of_java_may_differ(java: str, own: str, single: bool, same: bool) -> None:
    assert same_number(java, own, single=single) is same
