"""The choice of the emulated version by ``connector.plugin.version`` (KIP-891: an exact version or a Maven range)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connector.configdef.key import CONNECTOR_CLASS, DEFAULT_VERSION, VERSIONS
from connector.java.trim import trim

_INTERVAL: Final = re.compile(r"([\[(])([^\[\](),]*)(?:(,)([^\[\](),]*))?([\])])\s*,?\s*")
_QUALIFIERS: Final = ("alpha", "beta", "milestone", "rc", "cr", "snapshot", "")

Order = tuple[tuple[int, ...], int]

LATEST: Final = "latest"
_MOST_DIGITS: Final = 18


class BadVersionError(ValueError):
    """No emulated version matches the request, or the request is ``unreadable`` as a range. The text is Kafka Connect's."""

    def __init__(self, text: str, versions: Sequence[str], *, unreadable: bool = False) -> None:
        super().__init__(f"{text}, available versions: [{', '.join(versions)}]")
        self.unreadable = unreadable


@dataclass(frozen=True, slots=True)
class _Interval:
    low: Order | None
    high: Order | None
    with_low: bool
    with_high: bool
    bounds: str

    def __str__(self) -> str:
        """As Maven shows it: with two bounds, without blanks."""
        return f"{'[' if self.with_low else '('}{self.bounds}{']' if self.with_high else ')'}"

    def holds(self, here: Order) -> bool:
        if self.low is not None and (here < self.low or (here == self.low and not self.with_low)):
            return False
        return self.high is None or here < self.high or (here == self.high and self.with_high)


def select_version(wanted: str | None) -> str:
    """Return the newest emulated version that ``wanted`` allows; the default for None and ``latest``. Raises BadVersionError."""
    return DEFAULT_VERSION if wanted is None or trim(wanted) == LATEST else newest(wanted, CONNECTOR_CLASS, VERSIONS)


def newest(wanted: str | None, plugin: str, versions: Sequence[str]) -> str:
    """Return the newest of a plugin's sorted ``versions`` that ``wanted`` allows. Raises BadVersionError."""
    if wanted is None or trim(wanted) == LATEST:
        return versions[-1]
    asked = trim(wanted)
    if asked in versions:
        return asked
    # A bare version is exact; an empty one matches no version.
    text = asked if asked[:1] in ("[", "(") else f"[{asked}]"
    intervals = _intervals(text) if asked else ()
    if intervals is None:
        raise BadVersionError(f"Invalid version specification: {asked}", versions, unreadable=True)
    fitting = [version for version in versions if any(interval.holds(_order(version)) for interval in intervals)]
    if not fitting:
        shown = ",".join(map(str, intervals)) or "[,]"
        raise BadVersionError(f"Plugin {plugin} not found that matches the version range {shown}", versions)
    return fitting[-1]


def _intervals(text: str) -> tuple[_Interval, ...] | None:
    """Read a Maven range; None if Maven refuses it: unclosed brackets, bounds in the wrong order, or overlapping intervals."""
    found: list[_Interval] = []
    end = 0
    while end < len(text):
        match = _INTERVAL.match(text, end)
        if match is None:
            return None
        opening, low, comma, high, closing = match.groups()
        lowest = _order(low) if trim(low) or not comma else None
        highest = (_order(high) if trim(high) else None) if comma else lowest
        bounds = f"{trim(low)},{trim(high if comma else low)}"
        interval = _Interval(lowest, highest, opening == "[", closing == "]", bounds)
        closed = interval.with_low and interval.with_high
        if not comma and not closed:
            return None
        if lowest is not None and highest is not None and (highest < lowest or (highest == lowest and not closed)):
            return None
        before = found[-1].high if found else None
        if before is not None and (lowest is None or lowest < before):
            return None
        found.append(interval)
        end = match.end()
    return tuple(found)


def _order(version: str) -> Order:
    """Return a version's sort key in Maven's order: the numbers, then the qualifier; ``Final``, ``GA`` and no qualifier are equal.

    Only the forms that occur in versions of plugins are covered.
    """
    numbers, qualifier = [], ""
    for part in re.split(r"[.\-]", trim(version)):
        if part.isascii() and part.isdigit():
            # Python's int() refuses thousands of digits. A number with more digits than this is larger than in any emulated version.
            numbers.append(int(part.lstrip("0")[:_MOST_DIGITS] or "0"))
        else:
            qualifier = part.lower().rstrip("0123456789")
            break
    while numbers and numbers[-1] == 0:
        numbers.pop()
    name = "" if qualifier in ("final", "ga", "release") else qualifier
    # An unknown qualifier sorts after a release.
    return tuple(numbers), _QUALIFIERS.index(name) if name in _QUALIFIERS else len(_QUALIFIERS)
