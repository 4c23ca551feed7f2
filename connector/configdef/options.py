"""The options of one transform, predicate or converter: what a configuration sets, else the defaults of its ``ConfigDef``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from connector.configdef.key import Key
from connector.emulation import DEFAULT, Emulation
from connector.java.trim import trim
from connector.ports import Backtracking, no_backtracking

Report = Callable[[str], None]
"""Takes the full name of a property that a step does not know."""


def discard(_property: str) -> None:
    """Take a property and report nothing: the :data:`Report` of those who make a step only to check it."""


Idle = Callable[[str, str], None]
"""Takes the full name of a property that has no effect here, and the reason."""


def discard_idle(_property: str, _reason: str) -> None:
    """Take a property and report nothing, as :func:`discard`."""


class OptionError(ValueError):
    """Options that a transform cannot be made of (Kafka's ``ConfigException``)."""

    @classmethod
    def of_value(cls, name: str, value: str | None, problem: str) -> OptionError:
        """Make the error of a value that Debezium's validation refuses."""
        shown = "null" if value is None else value
        return cls(f"Invalid value {shown} for configuration {name}: The '{name}' value is invalid: {problem}")


class Options:
    """The options of one step: those that are set, else the defaults of its ``keys``. Names are without the step's prefix."""

    def __init__(
        self,
        keys: Iterable[Key],
        values: Mapping[str, str],
        emulation: Emulation = DEFAULT,
        prefix: str = "",
        backtrack: Backtracking = no_backtracking,
    ) -> None:
        self._keys = {key.name: key for key in keys}
        self._values = values
        self._read: set[str] = set()
        """Names that were asked for and that are not among the keys."""
        self._forwarded: set[str] = set()
        """Prefixes of options that the step passes on."""
        self.emulation = emulation
        self.prefix = prefix
        """What stands before the names in the configuration, where it is known."""
        self.backtrack = backtrack
        """Matches the patterns of a step that RE2 cannot match."""

    def __contains__(self, name: str) -> bool:
        """Whether the option is set."""
        self._read.add(name)
        return name in self._values

    @property
    def raw(self) -> Mapping[str, str]:
        """All options that are set, of known and unknown names. What is looked up here counts as known to the step."""
        return _Looked(self._values, self._read)

    def under(self, prefix: str) -> dict[str, str]:
        """Return the options below a prefix, without it. The step passes them on, so all their names count as known."""
        self._forwarded.add(prefix)
        return {name.removeprefix(prefix): value for name, value in self._values.items() if name.startswith(prefix)}

    def unused(self) -> tuple[str, ...]:
        """Return the names that are set and that the step does not know. Call it when the step is made: steps may read unlisted names."""
        known = self._keys.keys() | self._read
        prefixes = tuple(self._forwarded)
        return tuple(name for name in self._values if name not in known and not name.startswith(prefixes))

    def report_unused(self, prefix: str, report: Report) -> None:
        """Report each of :meth:`unused` as the configuration names it, with the step's ``prefix``."""
        for name in self.unused():
            report(f"{prefix}{name}")

    def report_idle(self, prefix: str, report: Idle) -> None:
        """Report each option that is set and has no effect here (``support`` is ``ignored``), with the reason."""
        for name in self._values:
            key = self._keys.get(name)
            if key is not None and key.support == "ignored":
                report(f"{prefix}{name}", key.reason)

    def text(self, name: str) -> str | None:
        """Return the trimmed text, or the default. Raises OptionError for a required option that is not set."""
        value = self._values.get(name)
        if value is not None:
            return trim(value)
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

    def written(self, name: str) -> str:
        """Return the text as it is written. Raises OptionError if it is blank or not set, as Debezium's validation does."""
        value = self.raw.get(name)
        if value is None or not trim(value):
            raise OptionError.of_value(name, value, "A value is required")
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """Return the entries of a LIST, trimmed; none for an empty text."""
        value = self.text(name)
        return tuple(trim(entry) for entry in value.split(",")) if value else ()

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


class _Looked(Mapping[str, str]):
    """Options that notes each name that is looked up."""

    def __init__(self, values: Mapping[str, str], read: set[str]) -> None:
        self._values = values
        self._read = read

    def __getitem__(self, name: str) -> str:
        self._read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
