"""Python classes in place of Java's: the worker's properties ``class.map.<Java class>=package.module:Class``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from connector.errors import CdcError, ErrorKind

Text = TypeVar("Text", str, str | None)

PREFIX: Final = "class.map."


def class_map(properties: Mapping[str, str]) -> Mapping[str, str]:
    """Return Java class → Python class. Raises CdcError(CONFIG_INVALID) for an entry that names no Python class."""
    found = {key.removeprefix(PREFIX): value.strip() for key, value in properties.items() if key.startswith(PREFIX)}
    for java, python in found.items():
        if ":" not in python:
            raise CdcError(
                ErrorKind.CONFIG_INVALID,
                f"Property {PREFIX}{java} names no Python class",
                "Write it as package.module:Class, and list the package in plugin.packages.",
            )
    return found


def with_python_classes(config: Mapping[str, Text], classes: Mapping[str, str]) -> dict[str, Text]:
    """Return the configuration with Python's classes in place of Java's, wherever a value is a class that is mapped."""
    return {key: value if value is None else classes.get(value.strip(), value) for key, value in config.items()}
