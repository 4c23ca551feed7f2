"""Validators of options that are lists, in the words of Kafka's ``ConfigDef`` (KIP-1161 for 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.configdef.key import Key, Settings, Validator
from connector.java.trim import trim


def entries(value: str | None) -> list[str]:
    """Return the entries of a list as it is written."""
    return [trim(entry) for entry in value.split(",")] if value else []


def shown(listed: list[str]) -> str:
    """Return a list as Java prints it."""
    return f"[{', '.join(listed)}]"


def without_repetitions(value: str | None) -> str | None:
    """Return a list with each entry once, which is how Connect 4.3 reads a list that must not have duplicates."""
    # A blank stands for a list of one empty entry.
    return value and (",".join(dict.fromkeys(entries(value))) or " ")


def distinct_names(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require entries that differ from each other and are not empty. Connect 3.9 does not."""
    listed = entries(value)
    if value is None:
        yield f"Configuration '{key.name}' values must not be null."
    elif len(set(listed)) < len(listed):
        yield f"Configuration '{key.name}' values must not be duplicated."
    elif "" in listed:
        yield f"Configuration '{key.name}' values must not be empty."


def some_distinct_names(key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require the same, and one entry at least."""
    if value is not None and not entries(value):
        yield f"Configuration '{key.name}' must not be empty. Valid values include: any non-empty value"
    yield from distinct_names(key, value, settings)


def some_names(key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require an entry."""
    if not entries(value):
        yield f"Invalid value {'null' if value is None else '[]'} for configuration {key.name}: Empty list"


DISTINCT: Final[frozenset[Validator]] = frozenset({distinct_names, some_distinct_names})
"""The validators of lists that Connect 4.3 reads without repetitions."""
