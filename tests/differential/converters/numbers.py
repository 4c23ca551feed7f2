"""Floating-point numbers of which both sides make the same text. Of others, Java makes longer ones before version 19."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from random import Random
from typing import Final

from connector.java.floats import java_double, java_float
from tests.differential.java_numbers import same_number
from tests.differential.java_program import JavaProgram

_SPECIAL: Final = (0.0, -0.0, 1.0, 0.1, 1e7, 1e-3, 123456789.125, float("nan"), float("inf"), float("-inf"))
_LIMITS: Final = (1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 1e21, 1e22, 9007199254740993.0)
_COUNT: Final = 3000


@dataclass(frozen=True, slots=True)
class Floats:
    """Numbers to choose from; ``singles`` are those of 32 bits."""

    doubles: tuple[float, ...]
    singles: tuple[float, ...]
    wrong: tuple[tuple[str, str], ...] = ()
    """Other texts of Java, with those of this project."""


PLAIN: Final = Floats((*_SPECIAL, *_LIMITS), (*_SPECIAL[:5], *_SPECIAL[7:], 1.5, -2.25))
"""Serve without a JVM."""


def bits(value: float, *, single: bool = False) -> str:
    """Return the bits as hexadecimal digits."""
    return struct.pack(">f" if single else ">d", value).hex()


def checked_floats(random: Random, program: JavaProgram) -> Floats:
    """Return random numbers of which Java makes the text that this project makes."""
    doubles = [*_SPECIAL, *_LIMITS, *(_double(random) for _ in range(_COUNT))]
    singles = [*PLAIN.singles, *(_single(random) for _ in range(_COUNT))]
    request = {"do": "floats", "doubles": [bits(each) for each in doubles], "singles": [bits(each, single=True) for each in singles]}
    (answer,) = program.answers([request])
    alike: list[float] = []
    alike_singles: list[float] = []
    wrong: list[tuple[str, str]] = []
    for numbers, texts, written, chosen in (
        (doubles, answer["doubles"], java_double, alike),
        (singles, answer["singles"], java_float, alike_singles),
    ):
        for number, text in zip(numbers, texts, strict=True):
            own = written(number).decode().strip('"')
            if own == text:
                chosen.append(number)
            elif not same_number(text, own, single=numbers is singles):
                wrong.append((text, own))
    return Floats(tuple(alike), tuple(alike_singles), tuple(wrong))


def _double(random: Random) -> float:
    match random.randrange(4):
        case 0:
            found: float = struct.unpack(">d", random.randbytes(8))[0]
            return found
        case 1:
            return round(random.uniform(-1e6, 1e6), random.randrange(6))
        case 2:
            return float(random.randint(-(10**17), 10**17))
    return random.uniform(-1, 1) * 10.0 ** random.randint(-12, 24)


def _single(random: Random) -> float:
    found: float
    match random.randrange(3):
        case 0:
            (found,) = struct.unpack(">f", random.randbytes(4))
        case 1:
            (found,) = struct.unpack(">f", struct.pack(">f", round(random.uniform(-1e5, 1e5), random.randrange(4))))
        case _:
            (found,) = struct.unpack(">f", struct.pack(">f", random.uniform(-1, 1) * 10.0 ** random.randint(-10, 20)))
    return found
