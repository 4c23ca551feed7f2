"""Floating-point numbers that Java 17 prints as later versions do: those of which both sides are known to make the same text."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from random import Random
from typing import Final

from connector.java.floats import java_double, java_float
from tests.differential.java_program import JavaProgram

_SPECIAL: Final = (0.0, -0.0, 1.0, 0.1, 1e7, 1e-3, 123456789.125, float("nan"), float("inf"), float("-inf"))
_LIMITS: Final = (1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 1e21, 1e22, 9007199254740993.0)
_COUNT: Final = 3000


@dataclass(frozen=True, slots=True)
class Floats:
    """Numbers to choose from; ``singles`` are those of 32 bits."""

    doubles: tuple[float, ...]
    singles: tuple[float, ...]
    left_out: int = 0
    """Numbers that Java prints in another way, which is a known difference of Java 17."""


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
    good = [each for each, text in zip(doubles, answer["doubles"], strict=True) if java_double(each).decode().strip('"') == text]
    good_singles = [each for each, text in zip(singles, answer["singles"], strict=True) if java_float(each).decode().strip('"') == text]
    return Floats(tuple(good), tuple(good_singles), len(doubles) + len(singles) - len(good) - len(good_singles))


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
