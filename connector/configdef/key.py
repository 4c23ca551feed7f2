"""The description of one configuration property.

Pure values: the sibling modules hold the rows, and :mod:`connector.config.connector_config` reads the properties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_7_0, DEFAULT, EMULATIONS

Type = Literal["STRING", "INT", "LONG", "SHORT", "DOUBLE", "BOOLEAN", "LIST", "CLASS", "PASSWORD"]
Importance = Literal["HIGH", "MEDIUM", "LOW"]
Width = Literal["NONE", "SHORT", "MEDIUM", "LONG"]
Support = Literal["honoured", "refused", "ignored"]

DEFAULT_VERSION: Final = DEFAULT.version
"""The version that is emulated unless ``connector.plugin.version`` or the worker selects another."""
VERSIONS: Final = tuple(emulation.version for emulation in EMULATIONS)
"""Versions that can be emulated, oldest first."""
UNTIL_2: Final = (DEBEZIUM_2_3_4.version,)
SINCE_3: Final = tuple(version for version in VERSIONS if version not in UNTIL_2)
SINCE_3_7: Final = VERSIONS[VERSIONS.index(DEBEZIUM_3_7_0.version) :]

CONNECTOR_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"

Settings = Mapping[str, str]
Validator = Callable[["Key", str | None, Settings], Iterable[str]]
"""Checks one value (the default if nothing is set, None without a default) together with all settings. Yields the problems. For a
property of the connector, the text is the part after ``The '<key>' value is invalid:``. For a property of Kafka Connect, it is the
whole line."""


@dataclass(frozen=True, slots=True)
class Key:
    """One row of the table: a property's name, type, validators and documentation, and what the connector does with it.

    ``versions`` are the connector versions whose ConfigDef lists the property; other versions read it too. ``choices`` are the recommended
    values, in the order in which the real connector shows them. ``choices_until_2``, ``validators_until_2`` and ``type_until_2`` apply to
    versions up to 2 where these differ, ``choices_since_3_7`` to versions from 3.7 on. ``framework`` marks Kafka Connect's own properties,
    whose errors have Kafka's texts. The place within the group is counted for each version unless ``fixed_order`` is given.
    ``unknown_until_2``: versions up to 2 do not know the property, which changes records, the server or the task's failure; with them it
    has no effect.

    ``support`` says what this connector does with the property. It honours it, it refuses any value other than the default (and
    ``allowed``), or it ignores it. If an honoured property has ``allowed``, only these values are supported. Values are compared trimmed
    and without regard to case; a LIST is compared item by item. ``reason`` says why a property is not honoured.

    If the connector refuses a value of its own properties in this way, or by one of the validators ``unsupported``, validation reports a
    warning, because Debezium accepts the value. The task fails with the same text. If ``strict``, Debezium refuses the value too.
    """

    name: str
    type: Type
    default: str | None
    importance: Importance
    display: str
    doc: str
    group: str = ""
    width: Width = "NONE"
    choices: tuple[str, ...] = ()
    choices_until_2: tuple[str, ...] = ()
    choices_since_3_7: tuple[str, ...] = ()
    validators: tuple[Validator, ...] = ()
    validators_until_2: tuple[Validator, ...] | None = None
    unsupported: tuple[Validator, ...] = ()
    type_until_2: Type | None = None
    dependents: tuple[str, ...] = ()
    versions: tuple[str, ...] = VERSIONS
    required: bool = False
    visible: bool = True
    framework: bool = False
    fixed_order: int = 0
    unknown_until_2: bool = False
    unlisted_choices: tuple[str, ...] = ()
    """Further legal values besides ``choices``. The real connector has dropped them: it neither shows nor accepts them."""
    regexes: bool = False
    """Whether the value is a list of regular expressions, in which ``\\,`` stands for a comma."""
    support: Support = "honoured"
    reason: str = ""
    remedy: str = ""
    """The remedy for a refused value, if it is not simply another value or the removal of the property."""
    allowed: tuple[str, ...] | None = None
    strict: bool = False

    @property
    def attribute(self) -> str:
        """The name of the attribute of ``ConnectorConfig``: dots to underscores, capitals to snake case."""
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in self.name)
        return snake.replace(".", "_")

    @property
    def internal(self) -> bool:
        """Whether the property is for the connector's developers (prefix ``internal.``)."""
        return self.name.startswith("internal.")

    @property
    def read_only(self) -> bool:
        """Whether the property is read although no ConfigDef lists it."""
        return not self.versions

    @property
    def enumerated(self) -> bool:
        """Whether only the recommended values are legal."""
        return bool(self.choices) and self.type == "STRING" and not self.framework

    def known_in(self, version: str) -> bool:
        """Return whether the property has an effect in ``version``."""
        return not (self.unknown_until_2 and version in UNTIL_2)

    def type_in(self, version: str) -> Type:
        """Return the type in ``version``."""
        return self.type_until_2 if version in UNTIL_2 and self.type_until_2 is not None else self.type

    def validators_in(self, version: str) -> tuple[Validator, ...]:
        """Return the validators in ``version``."""
        return self.validators_until_2 if version in UNTIL_2 and self.validators_until_2 is not None else self.validators

    def choices_in(self, version: str) -> tuple[str, ...]:
        """Return the recommended values in ``version``."""
        other = self.choices_until_2 if version in UNTIL_2 else self.choices_since_3_7 if version in SINCE_3_7 else ()
        return other or self.choices


@dataclass(frozen=True, slots=True)
class Family:
    """Properties that share a prefix or a pattern, with a part that the user chooses.

    ``pattern`` is a Python regular expression that must match the whole property name; ``shown`` is the form for documentation.
    """

    pattern: str
    shown: str
    doc: str
    support: Support = "honoured"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """A property's former name. ``values`` translates former values (lower case); other values are unchanged.

    ``known`` says that the emulated connector still reads the former name, and therefore checks its value.
    """

    old: str
    new: str
    values: tuple[tuple[str, str], ...] = ()
    known: bool = False
