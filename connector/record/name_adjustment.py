"""Adjustment of names for Avro (Debezium properties ``schema.name.adjustment.mode`` and ``field.name.adjustment.mode``).

A name in Avro has ASCII letters, digits and ``_`` and does not begin with a digit. The name of a schema consists of such names, joined by
dots; as recorded, only its very first character is checked for a digit. Characters are UTF-16 units, as recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

NameAdjuster = Callable[[str], str]

_SHORT: Final = 2


def name_adjuster(mode: str, *, dots: bool) -> NameAdjuster:
    """Return the function that adjusts a name in ``mode`` (none, avro, avro_unicode). ``dots`` is True for schemas, False for fields."""
    if mode == "none":
        return lambda name: name
    escaped = mode == "avro_unicode"
    return lambda name: "".join(_unit(unit, first=at == 0, escaped=escaped, dots=dots) for at, unit in enumerate(_units(name)))


def _units(name: str) -> list[str]:
    if max(name, default="") <= "\uffff":
        return list(name)
    data = name.encode("utf-16-be")
    return [chr(int.from_bytes(data[at : at + 2], "big")) for at in range(0, len(data), 2)]


def _unit(unit: str, *, first: bool, escaped: bool, dots: bool) -> str:
    letter = unit.isascii() and unit.isalpha()
    digit = unit.isascii() and unit.isdigit()
    if letter or (digit and not first) or (unit == "." and dots and not first) or (unit == "_" and not escaped):
        return unit
    if escaped:
        code = f"{ord(unit):x}"
        # Debezium fills up the shortest codes only: a Cyrillic letter has three digits.
        return f"_u00{code}" if len(code) <= _SHORT else f"_u{code}"
    return f"_{unit}" if digit else "_"
