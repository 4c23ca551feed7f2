"""The options of one transform, predicate or converter: what a configuration sets, else the defaults of its ``ConfigDef``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from connector.configdef.key import Key
from connector.emulation import DEFAULT, Emulation


class OptionError(ValueError):
    """Options that a transform cannot be made of (Kafka's ``ConfigException``)."""


class Options:
    """The options of one step: those that are set, else the defaults of its ``keys``. Names are without the step's prefix."""

    def __init__(self, keys: Iterable[Key], values: Mapping[str, str], emulation: Emulation = DEFAULT) -> None:
        self._keys = {key.name: key for key in keys}
        self._values = values
        self.emulation = emulation

    def __contains__(self, name: str) -> bool:
        """Whether the option is set."""
        return name in self._values

    @property
    def raw(self) -> Mapping[str, str]:
        """All options that are set, of known and unknown names."""
        return self._values

    def text(self, name: str) -> str | None:
        """Return the trimmed text, or the default. Raises OptionError for a required option that is not set."""
        value = self._values.get(name)
        if value is not None:
            return value.strip()
        key = self._keys[name]
        if key.default is None and key.required:
            raise OptionError(f'Missing required configuration "{name}" which has no default value.')
        return key.default

    def needed(self, name: str) -> str:
        """Return the text of an option that has a default or is required."""
        value = self.text(name)
        if value is None:
            raise OptionError(f'Missing required configuration "{name}" which has no default value.')
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """Return the entries of a LIST, trimmed; none for an empty text."""
        value = self.text(name)
        return tuple(entry.strip() for entry in value.split(",")) if value else ()

    def flag(self, name: str) -> bool:
        """Return a BOOLEAN. Raises OptionError."""
        value = self.needed(name).lower()
        if value not in ("true", "false"):
            raise OptionError(f"Invalid value {value} for configuration {name}: Expected value to be either true or false")
        return value == "true"

    def number(self, name: str) -> int:
        """Return an INT or LONG. Raises OptionError."""
        value = self.needed(name)
        try:
            return int(value)
        except ValueError:
            raise OptionError(f"Invalid value {value} for configuration {name}: Not a number of type {self._keys[name].type}") from None
