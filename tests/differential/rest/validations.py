"""Compares the answers to validations of random configurations, and reduces a configuration whose answers differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from .call import JSON, Answer, Call, Fields, object_text
from .configurations import CONNECTOR, Catalog, configuration
from .intended import is_intended

Difference = tuple[str, Any, Any]
"""Where, the reference's answer, and the own one."""

_ABSENT: Final = "<absent>"
_NOT_COMPARED: Final = {"documentation"}


@dataclass(frozen=True, slots=True)
class Validations:
    """Sends one configuration to both workers."""

    url: str
    own_url: str
    own_plugins: frozenset[str]
    """Classes that only the own worker has."""

    def differences(self, fields: Fields, plugin: str = CONNECTOR) -> list[Difference]:
        """What differs in the answers."""
        call = Call("PUT", f"/connector-plugins/{plugin}/config/validate", object_text(fields).encode(), JSON)
        return unintended(compare(call.send(self.url), call.send(self.own_url), self.own_plugins))

    def reduced(self, fields: Fields, place: str) -> Fields:
        """A part of the configuration that still differs at the place."""
        return reduced(fields, lambda part: any(where == place for where, _, _ in self.differences(part)))


def unintended(found: Sequence[Difference]) -> list[Difference]:
    """The differences that docs/differences.md does not describe."""
    rest = [difference for difference in found if not is_intended(*difference)]
    # The count follows from errors that differ by intention.
    return [] if len(rest) < len(found) and all(where == "error_count" for where, _, _ in rest) else rest


def own_plugins(url: str, own_url: str) -> frozenset[str]:
    """The plugins that only the worker at the second URL has."""
    listing = Call("GET", "/connector-plugins?connectorsOnly=false")
    theirs, ours = ({plugin["class"] for plugin in listing.send(each).json} for each in (url, own_url))
    return frozenset(ours - theirs)


def random_cases(seed: int, runs: int, catalog: Catalog, base: Mapping[str, str]) -> Iterator[tuple[int, Fields]]:
    """Numbered configurations, the same for a seed."""
    for number in range(runs):
        yield number, configuration(Random(f"{seed}/{number}"), catalog, base)


def compare(theirs: Answer, ours: Answer, extra: frozenset[str] = frozenset()) -> list[Difference]:
    """The differences of two answers to a validation; ``extra`` are plugins that only the own worker may recommend."""
    if theirs.status != ours.status or theirs.status != 200:
        return (
            []
            if (theirs.status, theirs.json) == (ours.status, ours.json)
            else [("answer", (theirs.status, theirs.json), (ours.status, ours.json))]
        )
    left, right = theirs.json, ours.json
    found = [(name, left[name], right[name]) for name in ("name", "error_count", "groups") if left[name] != right[name]]
    rows, own_rows = ([entry["value"]["name"] for entry in side["configs"]] for side in (left, right))
    if rows != own_rows:
        missing, added = [name for name in rows if name not in own_rows], [name for name in own_rows if name not in rows]
        found.append(("properties", missing, added) if missing or added else ("order", rows, own_rows))
    # A null is listed twice where it overrides a client's setting.
    by_name: dict[str, list[Any]] = {}
    for entry in right["configs"]:
        by_name.setdefault(entry["value"]["name"], []).append(entry)
    for entry in left["configs"]:
        if own := by_name.get(entry["value"]["name"]):
            found += _members(entry, own.pop(0), extra)
    return found


def _members(entry: Mapping[str, Any], own: Mapping[str, Any], extra: frozenset[str]) -> Iterator[Difference]:
    for part in ("definition", "value"):
        if entry[part] is None or own[part] is None:
            if entry[part] != own[part]:
                yield f"{entry['value']['name']} {part}", entry[part], own[part]
            continue
        for member in {**entry[part], **own[part]}:
            value, other = (side[part].get(member, _ABSENT) for side in (entry, own))
            if member == "recommended_values":
                other = [each for each in other if each not in extra]
            if value != other and member not in _NOT_COMPARED:
                yield f"{entry['value']['name']} {part}.{member}", value, other


def reduced(fields: Fields, differs: Callable[[Fields], bool]) -> Fields:
    """``fields`` without those that the difference does not need."""
    size = max(len(fields) // 2, 1)
    while size:
        at = 0
        while at < len(fields):
            part = fields[:at] + fields[at + size :]
            if differs(part):
                fields = part
            else:
                at += size
        size //= 2
    return fields
