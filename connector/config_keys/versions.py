"""Which of the played versions a ``connector.plugin.version`` asks for (KIP-891: an exact version or a Maven range)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connector.config_keys.key import CONNECTOR_CLASS, VERSIONS

_INTERVAL: Final = re.compile(r"([\[(])([^\[\](),]*)(?:(,)([^\[\](),]*))?([\])])\s*,?\s*")
_QUALIFIERS: Final = ("alpha", "beta", "milestone", "rc", "cr", "snapshot", "")

Order = tuple[tuple[int, ...], int]

_MOST_DIGITS: Final = 18


class BadVersionError(ValueError):
    """No played version satisfies what was asked for, or it cannot be read as a range (``unreadable``); the text is Kafka Connect's."""

    def __init__(self, text: str, versions: Sequence[str], *, unreadable: bool = False) -> None:
        super().__init__(f"{text}, available versions: [{', '.join(versions)}]")
        self.unreadable = unreadable


@dataclass(frozen=True, slots=True)
class _Interval:
    low: Order | None
    high: Order | None
    with_low: bool
    with_high: bool

    def holds(self, here: Order) -> bool:
        if self.low is not None and (here < self.low or (here == self.low and not self.with_low)):
            return False
        return self.high is None or here < self.high or (here == self.high and self.with_high)


def select_version(wanted: str | None) -> str:
    """Choose the newest played version that ``wanted`` allows; 3.6.3.Final for None and ``latest``. Raises BadVersionError."""
    return newest(wanted, CONNECTOR_CLASS, VERSIONS)


def newest(wanted: str | None, plugin: str, versions: Sequence[str]) -> str:
    """Choose the newest of a plugin's ``versions``, which are in order, that ``wanted`` allows. Raises BadVersionError."""
    if wanted is None or wanted.strip() == "latest":
        return versions[-1]
    asked = wanted.strip()
    # A bare version counts as exact; an empty one as a version that does not exist.
    text = asked if asked[:1] in ("[", "(") else f"[{asked},{asked}]"
    intervals = _intervals(text) if asked else ()
    if intervals is None:
        raise BadVersionError(f"Invalid version specification: {asked}", versions, unreadable=True)
    fitting = [version for version in versions if any(interval.holds(_order(version)) for interval in intervals)]
    if not fitting:
        raise BadVersionError(f"Plugin {plugin} not found that matches the version range {text}", versions)
    return fitting[-1]


def _intervals(text: str) -> tuple[_Interval, ...] | None:
    """Read a Maven range; None for one that Maven refuses: brackets left open, bounds in the wrong order, intervals that overlap."""
    found: list[_Interval] = []
    end = 0
    while end < len(text):
        match = _INTERVAL.match(text, end)
        if match is None:
            return None
        opening, low, comma, high, closing = match.groups()
        lowest = _order(low) if low.strip() or not comma else None
        highest = (_order(high) if high.strip() else None) if comma else lowest
        interval = _Interval(lowest, highest, opening == "[", closing == "]")
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
    """Maven's order for what occurs here: numbers, then the qualifier; ``Final``, ``GA`` and none are equal."""
    numbers, qualifier = [], ""
    for part in re.split(r"[.\-]", version.strip()):
        if part.isascii() and part.isdigit():
            # Python refuses to read thousands of digits; a number of so many is larger than all that are played in any case.
            numbers.append(int(part.lstrip("0")[:_MOST_DIGITS] or "0"))
        else:
            qualifier = part.lower().rstrip("0123456789")
            break
    while numbers and numbers[-1] == 0:
        numbers.pop()
    name = "" if qualifier in ("final", "ga", "release") else qualifier
    # An unknown qualifier sorts after a release.
    return tuple(numbers), _QUALIFIERS.index(name) if name in _QUALIFIERS else len(_QUALIFIERS)
