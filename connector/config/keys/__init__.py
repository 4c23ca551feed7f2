"""The one table of every property. Parsing, validation, the REST answers and ``docs/config.md`` are derived from it.

A row describes a property completely. To support a property, change its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Final

from connector.config.keys.aliases import ALIASES, FORMER_VALUES
from connector.config.keys.events import EVENTS
from connector.config.keys.families import FAMILIES
from connector.config.keys.framework import FRAMEWORK
from connector.config.keys.operation import OPERATION
from connector.config.keys.postgres import POSTGRES
from connector.config.keys.purposes import by_purpose
from connector.config.keys.snapshot import SNAPSHOT
from connector.config.keys.unlisted import UNLISTED
from connector.config.keys.values import NUMBERS_AND_TIMES, OTHER_VALUES
from connector.config.keys.versions import BadVersionError, select_version
from connector.configdef.key import CONNECTOR_CLASS, DEFAULT_VERSION, UNTIL_2, VERSIONS, Alias, Family, Key
from connector.emulation import emulation_of

__all__ = [
    "ALIASES",
    "BY_NAME",
    "CONNECTOR_CLASS",
    "DEFAULT_VERSION",
    "FAMILIES",
    "FORMER_VALUES",
    "KEYS",
    "UNTIL_2",
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
    *_grouped("Postgres", POSTGRES),
    *_grouped("Connector", (*OPERATION, *NUMBERS_AND_TIMES, *SNAPSHOT, *OTHER_VALUES)),
    *_grouped("Events", EVENTS),
    *UNLISTED,
)
"""All rows, in the order of the ConfigDef, then those that it does not list."""

BY_NAME: Final[dict[str, Key]] = {key.name: key for key in KEYS}

_BY_PURPOSE: Final = by_purpose(BY_NAME)

_FAMILY_PATTERNS: Final = tuple((re.compile(family.pattern), family) for family in FAMILIES)


@cache
def keys_in(version: str) -> tuple[Key, ...]:
    """Return the rows that the ConfigDef of ``version`` lists, in its order."""
    listed = tuple(key for key in KEYS if version in key.versions)
    if not emulation_of(version).groups_by_purpose:
        return listed
    return (*(key for key in listed if key.framework), *_BY_PURPOSE)


def order_in_group(version: str) -> dict[str, int]:
    """Return the place of each property of ``version`` within its group, counted from 1 as in the ConfigDef."""
    last: dict[str, int] = {}
    orders: dict[str, int] = {}
    for key in keys_in(version):
        orders[key.name] = key.fixed_order or last.get(key.group, 0) + 1
        last[key.group] = orders[key.name]
    return orders


@cache
def groups(version: str) -> tuple[str, ...]:
    """Return the groups in the order in which they first occur."""
    return tuple(dict.fromkeys(key.group for key in keys_in(version)))


def family_of(name: str) -> Family | None:
    """Return the family of a property whose name contains a part that the user chooses; None if it belongs to no family."""
    return next((family for pattern, family in _FAMILY_PATTERNS if pattern.fullmatch(name)), None)
