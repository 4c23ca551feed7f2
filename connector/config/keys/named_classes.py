"""Properties that list names, each of which has a user's class under ``<name>.type``."""

from __future__ import annotations

from collections.abc import Iterator

from connector.configdef.key import Key, Settings


def named_classes(value: str | None) -> tuple[str, ...]:
    """Return the names that a property lists, without duplicates."""
    return tuple(dict.fromkeys(entry.strip() for entry in (value or "").split(",") if entry.strip()))


def of_named_class(setting: str, settings: Settings) -> bool:
    """Return whether the property ``setting`` belongs to a name in ``converters``."""
    return any(setting.startswith(f"{name}.") for name in named_classes(settings.get("converters")))


def named_python_classes(_key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require that no ``<name>.type`` names a Java class: a Python class is ``package.module:Class`` or an entry point.

    A missing type is reported when the task starts, as in Debezium.
    """
    for name in named_classes(value):
        setting, named = f"{name}.type", settings.get(f"{name}.type", "").strip()
        if ":" not in named and "." in named:
            yield (
                f"{setting} names the Java class {named}, and Java classes cannot be loaded; write it again in Python (docs/extending.md) "
                "and name it as package.module:Class"
            )
