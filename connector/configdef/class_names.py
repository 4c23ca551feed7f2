"""How a configuration's text finds a class (Connect's ``PluginUtils``): full names, simple names, and those without a suffix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_OF_FURTHER_JARS: Final = frozenset({"io.debezium.transforms.Filter"})
"""Classes that are here, and in Debezium only with another jar: a name that an installed class has too means that class."""


def find_class(text: str, known: Iterable[str], *suffixes: str) -> str | None:
    """Return which of ``known`` is meant: by its full name, by its simple one, or by that without a suffix, where only one has it."""
    listed = tuple(known)
    if text in listed:
        return text
    simple = [(name, name.replace("$", ".").rpartition(".")[2]) for name in listed]
    named = [name for name, short in simple if text and text in (short, *map(short.removesuffix, suffixes))]
    if len(named) > 1:
        named = [name for name in named if name not in _OF_FURTHER_JARS]
    return named[0] if len(named) == 1 else None
