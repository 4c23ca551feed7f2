"""The one table of every property: it drives reading, validation, the REST answers and ``docs/config.md``.

A row says everything about a property, so that playing one more of them means changing its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from connector.config_keys.aliases import ALIASES, FORMER_VALUES
from connector.config_keys.events import EVENTS
from connector.config_keys.families import FAMILIES
from connector.config_keys.framework import FRAMEWORK
from connector.config_keys.key import CONNECTOR_CLASS, CURRENT, FORMER, VERSIONS, Alias, Family, Key
from connector.config_keys.representation import REPRESENTATION
from connector.config_keys.running import RUNNING
from connector.config_keys.source import SOURCE
from connector.config_keys.unlisted import UNLISTED
from connector.config_keys.versions import BadVersionError, select_version

__all__ = [
    "ALIASES",
    "BY_NAME",
    "CONNECTOR_CLASS",
    "CURRENT",
    "FAMILIES",
    "FORMER",
    "FORMER_VALUES",
    "KEYS",
    "VERSIONS",
    "Alias",
    "BadVersionError",
    "Family",
    "Key",
    "family_of",
    "groups",
    "keys_in",
    "order_in_group",
    "select_version",
]


def _grouped(group: str, rows: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(replace(row, group=group) for row in rows)


KEYS: Final[tuple[Key, ...]] = (
    *FRAMEWORK,
    *_grouped("Postgres", SOURCE),
    *_grouped("Connector", (*RUNNING, *REPRESENTATION)),
    *_grouped("Events", EVENTS),
    *UNLISTED,
)
"""All rows, in the order the ConfigDef lists them, those it does not list last."""

BY_NAME: Final[dict[str, Key]] = {key.name: key for key in KEYS}

_FAMILY_PATTERNS: Final = tuple((re.compile(family.pattern), family) for family in FAMILIES)


def keys_in(version: str) -> tuple[Key, ...]:
    """Give the rows that the ConfigDef of ``version`` lists, in its order."""
    return tuple(key for key in KEYS if version in key.versions)


def order_in_group(version: str) -> dict[str, int]:
    """Give the place within its group of each property listed in ``version``, counted from 1 as the ConfigDef does."""
    last: dict[str, int] = {}
    orders: dict[str, int] = {}
    for key in keys_in(version):
        orders[key.name] = key.fixed_order or last.get(key.group, 0) + 1
        last[key.group] = orders[key.name]
    return orders


def groups(version: str) -> tuple[str, ...]:
    """Give the groups in the order in which they first occur."""
    return tuple(dict.fromkeys(key.group for key in keys_in(version)))


def family_of(name: str) -> Family | None:
    """Find the family that a property with a name of the user's choosing belongs to."""
    return next((family for pattern, family in _FAMILY_PATTERNS if pattern.fullmatch(name)), None)
