"""Which of the played versions a ``connector.plugin.version`` asks for (KIP-891: an exact version or a Maven range)."""

from __future__ import annotations

import re
from typing import Final

from connector.config_keys.key import CONNECTOR_CLASS, CURRENT, VERSIONS

_INTERVAL: Final = re.compile(r"\s*([\[(])([^\[\](),]*)(?:(,)([^\[\](),]*))?([\])])\s*(?:,(?=\s*[\[(])|$)")
_QUALIFIERS: Final = ("alpha", "beta", "milestone", "rc", "cr", "snapshot", "")

Order = tuple[tuple[int, ...], int]


class BadVersionError(ValueError):
    """No played version satisfies what was asked for; the text is Kafka Connect's."""


def select_version(wanted: str | None) -> str:
    """Choose the newest played version that ``wanted`` allows; 3.6.3.Final for None and ``latest``. Raises BadVersionError."""
    if wanted is None or wanted.strip() == "latest":
        return CURRENT
    asked = wanted.strip()
    # A bare version counts as exact.
    text = asked if asked[:1] in ("[", "(") else f"[{asked},{asked}]"
    intervals, end = [], 0
    while end < len(text):
        match = _INTERVAL.match(text, end)
        if match is None:
            break
        intervals.append(match)
        end = match.end()
    fitting = [version for version in VERSIONS if end == len(text) and any(_holds(match, version) for match in intervals)]
    if not fitting:
        raise BadVersionError(
            f"Plugin {CONNECTOR_CLASS} not found that matches the version range {text}, available versions: [{', '.join(VERSIONS)}]"
        )
    return fitting[-1]


def _holds(interval: re.Match[str], version: str) -> bool:
    opening, low, comma, high, closing = interval.groups()
    here = _order(version)
    if not comma:
        return here == _order(low)
    if low.strip() and (here < _order(low) or (opening == "(" and here == _order(low))):
        return False
    if not (high or "").strip():
        # "[,]", which an empty value becomes, has no bound to meet.
        return bool(low.strip()) or closing == ")"
    return here < _order(high) or (closing == "]" and here == _order(high))


def _order(version: str) -> Order:
    """Maven's order for what occurs here: numbers, then the qualifier; ``Final``, ``GA`` and none are equal."""
    numbers, qualifier = [], ""
    for part in re.split(r"[.\-]", version.strip()):
        if part.isdigit():
            numbers.append(int(part))
        else:
            qualifier = re.sub(r"\d+$", "", part.lower())
            break
    while numbers and numbers[-1] == 0:
        numbers.pop()
    name = "" if qualifier in ("final", "ga", "release") else qualifier
    # An unknown qualifier sorts after a release.
    return tuple(numbers), _QUALIFIERS.index(name) if name in _QUALIFIERS else len(_QUALIFIERS)
