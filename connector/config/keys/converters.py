"""The properties of the converters that a configuration names (Kafka's ``JsonConverterConfig`` and others)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connector.config.keys.plugin_classes import CONVERTERS, HEADER_CONVERTERS, version_problem
from connector.config.keys.versions import BadVersionError
from connector.configdef.class_names import find_class
from connector.configdef.key import Key
from connector.converters import catalog
from connector.java.hash_map import java_order

SIMPLE_HEADER_CONVERTER: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
SIDES: Final = ("header", "key", "value")
"""The sides, in the order in which Connect shows their converters."""


def converter_class(side: str, text: str) -> str | None:
    """Return the converter that ``text`` names for ``side``, by its full or short name; None if there is none."""
    converters = dict.fromkeys((*CONVERTERS, *catalog.CONVERTERS))
    if side != "header":
        return find_class(text, converters, "Converter")
    headers = dict.fromkeys((*HEADER_CONVERTERS, *catalog.HEADER_CONVERTERS))
    # The short name of a class that converts values too lacks "Converter", that of any other "HeaderConverter".
    return find_class(text, headers, "HeaderConverter") or find_class(text, [name for name in headers if name in converters], "Converter")


def converter_mismatch(side: str, settings: Mapping[str, str | None], emulated: str, default: str | None = None) -> BadVersionError | None:
    """Return Connect's error if the converter of ``side`` does not exist in the version that the settings ask for; else None.

    ``default`` is the converter if the settings name none. Its version is not looked for, but its range must be readable.
    """
    named, asked = settings.get(f"{side}.converter"), settings.get(f"{side}.converter.plugin.version")
    found = converter_class(side, named or default or "")
    if found is None:
        problem = version_problem(default or "", emulated, asked)
        return problem if problem is not None and problem.unreadable else None
    # Every other converter is two kinds of plugin: a header converter, and a converter of keys and values.
    kinds = 1 if found == SIMPLE_HEADER_CONVERTER else 2
    problem = version_problem(found, emulated, asked, kinds=kinds)
    return problem if problem is None or problem.unreadable or named else None


def converter_keys(settings: Mapping[str, str | None], emulated: str) -> list[tuple[Key, str | None, str]]:
    """Return rows, values and full names of the properties of each named converter that exists."""
    rows: list[tuple[Key, str | None, str]] = []
    for side in SIDES:
        found = converter_class(side, settings.get(f"{side}.converter") or "")
        if found is None or converter_mismatch(side, settings, emulated) is not None:
            continue
        for key in _as_validated(keys_of(found, side)):
            default = side if key.name == "converter.type" else key.default
            name = f"{side}.converter.{key.name}"
            rows.append((key, settings.get(name, default), name))
    return rows


def keys_of(converter: str, side: str) -> tuple[Key, ...]:
    """Return the properties that a converter's class lists, in the order of its ``ConfigDef``; none for a class of another kind."""
    known = catalog.HEADER_CONVERTERS.get(converter) if side == "header" else catalog.CONVERTERS.get(converter)
    return () if known is None else tuple(key for key in known.keys if not key.read_only)


def _as_validated(keys: tuple[Key, ...]) -> list[Key]:
    """A validated configuration has the order of Connect's map of the names."""
    by_name = {key.name: key for key in keys}
    return [by_name[name] for name in java_order(by_name)]
