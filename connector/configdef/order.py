"""The order in which Kafka lists the properties of one class (``ConfigDef.sortedConfigs``)."""

from __future__ import annotations

from collections.abc import Iterable

from connector.configdef.key import Key

_IMPORTANCE = ("HIGH", "MEDIUM", "LOW")


def sorted_keys(keys: Iterable[Key]) -> list[Key]:
    """Return the keys in that order: without a group first, then by group, place, whether required, importance and name."""
    listed = list(keys)
    groups = list(dict.fromkeys(key.group for key in listed if key.group))

    def place(key: Key) -> tuple[int, int, bool, int, str]:
        group = groups.index(key.group) + 1 if key.group else 0
        return group, key.fixed_order, not key.required, _IMPORTANCE.index(key.importance), key.name

    return sorted(listed, key=place)
