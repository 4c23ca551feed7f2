"""Properties that list names, each of which has a user's class under ``<name>.type``."""

from __future__ import annotations

from collections.abc import Iterator

from connector.configdef.key import Key, Settings


class NamedClasses:
    """The names that a property lists, without duplicates, in its order.

    Finding the names of a setting takes time in proportion to the setting's length, whatever the number of names.
    """

    def __init__(self, value: str | None) -> None:
        self._places = {name: place for place, name in enumerate(dict.fromkeys(filter(None, map(str.strip, (value or "").split(",")))))}
        self._lengths = sorted({len(name) for name in self._places})

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def owners(self, setting: str) -> list[str]:
        """Return the names to which the property ``setting``, ``<name>.…``, belongs. With dots in names there may be several."""
        found: list[str] = []
        for length in self._lengths:
            if length >= len(setting):
                break
            if setting[length] == "." and setting[:length] in self._places:
                found.append(setting[:length])
        return sorted(found, key=self._places.__getitem__)


def named_python_classes(_key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require that no ``<name>.type`` names a Java class: a Python class is ``package.module:Class`` or an entry point.

    A missing type is reported when the task starts, as in Debezium.
    """
    for name in NamedClasses(value):
        setting, named = f"{name}.type", settings.get(f"{name}.type", "").strip()
        if ":" not in named and "." in named:
            yield (
                f"{setting} names the Java class {named}, and Java classes cannot be loaded; write it again in Python "
                "(`understudy docs extending`) and name it as package.module:Class"
            )
