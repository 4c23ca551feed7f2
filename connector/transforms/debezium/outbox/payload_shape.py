"""The shape of a parsed JSON payload: all that its inferred schema depends on, as a key of a cache.

Two payloads of the same shape have the same schema and lose the same members, so that both are inferred once for each shape. Inferring
takes 30 µs for a payload of 16 members, its shape 3 µs, and to check that it has the shape of an earlier one 0.8 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, cast

from connector.record.generated import Generated, define

_INT32: Final = 2**31
_INT64: Final = 2**63
_PLAIN_DOUBLES: Final = 1e-3, 1e7
"""Java writes the doubles between these without an exponent."""


class NoShapeError(ValueError):
    """The payload has a number whose schema depends on more than its shape."""


def shape_of(node: Any) -> Hashable:
    """Return the shape of what ``orjson.loads`` made of a payload.

    Raises NoShapeError for numbers beyond int64: ``orjson`` makes doubles of the larger integers, which a double's shape would hide.
    RecursionError for a payload that is nested too deeply.
    """
    kind = type(node)
    if kind is str:
        return "s"
    if kind is dict:
        out: list[Hashable] = ["{"]
        for name, member in node.items():
            out += (name, "s" if type(member) is str else shape_of(member))
        return tuple(out)
    if kind is list:
        members = [shape_of(member) for member in node]
        first = members[:1]
        # The schema does not depend on how many alike there are.
        return ("[", *(first if members == first * len(members) else members))
    if kind is int:
        return _integer(node)
    if kind is float:
        return _double(node)
    return "n" if node is None else "b"


def _integer(number: int) -> str:
    if -_INT32 <= number < _INT32:
        return "i"
    if -_INT64 <= number < _INT64:
        return "l"
    raise NoShapeError


def _double(number: float) -> str:
    if not number or _PLAIN_DOUBLES[0] <= abs(number) < _PLAIN_DOUBLES[1]:
        return "d"
    if abs(number) < _INT64:
        return "e"
    raise NoShapeError


def is_plain(shape: Hashable) -> bool:
    """Whether Java and Python write the numbers of payloads of this shape alike: none has an exponent."""
    if isinstance(shape, tuple):
        return all(map(is_plain, shape[2::2] if shape[0] == "{" else shape[1:]))
    return shape != "e"


def shape_check(shape: Hashable) -> Callable[[Any], bool]:
    """Return a function that says whether a payload has ``shape``, which :func:`shape_of` returned.

    It says no for some payloads that have it: those with arrays of other lengths whose elements are not all alike.
    """
    return cast("Callable[[Any], bool]", define("payload shape", "fits", lambda: _Check().source(shape)))


class _Check:
    """The source of one check. Each object's members are unpacked once; an array's elements are checked by a function of their own."""

    def __init__(self) -> None:
        self._names: dict[str, object] = {}
        self._functions: list[str] = []
        self._count = 0

    def source(self, shape: Hashable) -> Generated:
        self._function("fits", shape)
        return self._functions, self._names

    def _fresh(self, word: str) -> str:
        self._count += 1
        return f"{word}{self._count}"

    def _function(self, name: str, shape: Hashable) -> None:
        lines: list[str] = []
        self._check(shape, "value", lines)
        self._functions += [f"def {name}(value):", *(f"    {line}" for line in lines), "    return True"]

    def _check(self, shape: Hashable, place: str, lines: list[str]) -> None:
        """Append statements that return False unless the value at ``place`` has the shape."""
        if not isinstance(shape, tuple):
            lines.append(f"if not ({_LEAVES[cast('str', shape)].format(place)}): return False")
        elif shape[0] == "{":
            names = self._fresh("names")
            self._names[names] = shape[1::2]
            lines.append(f"if type({place}) is not dict or tuple({place}) != {names}: return False")
            members = [(self._fresh("value"), member) for member in shape[2::2]]
            if members:
                lines.append(f"{''.join(name + ', ' for name, _ in members)}= {place}.values()")
            for name, member in members:
                self._check(member, name, lines)
        elif len(shape) == 2:
            each = self._fresh("each")
            self._function(each, shape[1])
            lines.append(f"if type({place}) is not list or not {place} or not all(map({each}, {place})): return False")
        else:
            members = [(self._fresh("value"), member) for member in shape[1:]]
            lines.append(f"if type({place}) is not list or len({place}) != {len(members)}: return False")
            if members:
                lines.append(f"{''.join(name + ', ' for name, _ in members)}= {place}")
            for name, member in members:
                self._check(member, name, lines)


_LEAVES: Final = {
    "s": "type({0}) is str",
    "i": f"type({{0}}) is int and {-_INT32} <= {{0}} < {_INT32}",
    "l": f"type({{0}}) is int and ({-_INT64} <= {{0}} < {-_INT32} or {_INT32} <= {{0}} < {_INT64})",
    "d": f"type({{0}}) is float and (not {{0}} or {_PLAIN_DOUBLES[0]!r} <= abs({{0}}) < {_PLAIN_DOUBLES[1]!r})",
    "e": f"type({{0}}) is float and (0 < abs({{0}}) < {_PLAIN_DOUBLES[0]!r} or {_PLAIN_DOUBLES[1]!r} <= abs({{0}}) < {_INT64})",
    "n": "{0} is None",
    "b": "type({0}) is bool",
}
