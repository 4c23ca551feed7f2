"""What is known about one configuration property.

Pure values: the rows that use them stand in the sibling modules, the code that reads them in :mod:`connector.config`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Type = Literal["STRING", "INT", "LONG", "SHORT", "DOUBLE", "BOOLEAN", "LIST", "CLASS", "PASSWORD"]
Importance = Literal["HIGH", "MEDIUM", "LOW"]
Width = Literal["NONE", "SHORT", "MEDIUM", "LONG"]
Support = Literal["honoured", "refused", "ignored"]

CURRENT: Final = "3.6.3.Final"
"""The connector version that is played unless ``connector.plugin.version`` asks for another."""
FORMER: Final = "2.3.4.Final"
VERSIONS: Final = (FORMER, CURRENT)
"""Versions that can be played, oldest first."""
SINCE_3: Final = (CURRENT,)
UNTIL_2: Final = (FORMER,)

CONNECTOR_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"

Settings = Mapping[str, str]
Check = Callable[["Key", str | None, Settings], Iterable[str]]
"""Looks at one value (the default when nothing is set, None without either) beside all settings; yields what is wrong with it.

For a connector property the text is the part after ``The '<key>' value is invalid:``; for a property of Kafka Connect's own
it is the whole line.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """One row of the table: a property, how it reads, how it is shown, and what becomes of it.

    ``versions`` are the connector versions whose ConfigDef lists the property; a property outside of it is still read.
    ``choices`` are the recommended values, in the order the real connector shows them; ``choices_before``, ``checks_before``
    and ``type_before`` are 2.3.4's where they differ. The place within the group is counted per version unless
    ``fixed_order`` is given. ``framework`` marks Kafka Connect's own properties, whose errors are worded by Kafka.

    ``support`` tells what this connector does with the property: it acts on it, refuses any value but the default (and
    ``allowed``), or takes it without effect. An honoured property with ``allowed`` plays only these values. Comparison is
    on trimmed values, case aside; a LIST is compared item by item. ``reason`` says why for all but the honoured.

    A value of the connector's own properties that is refused in this way, or by one of ``unplayed``, is a warning for whoever saves
    the configuration, because the reference takes it; the task fails with the same text. Where ``strict``, the reference refuses
    it too.
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
    choices_before: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    checks_before: tuple[Check, ...] | None = None
    unplayed: tuple[Check, ...] = ()
    type_before: Type | None = None
    dependents: tuple[str, ...] = ()
    versions: tuple[str, ...] = VERSIONS
    required: bool = False
    visible: bool = True
    framework: bool = False
    fixed_order: int = 0
    unlisted_choices: tuple[str, ...] = ()
    """Values that are legal beside ``choices`` although the real connector has them no more: it neither shows nor takes them."""
    regexes: bool = False
    """A list of regular expressions: ``\\,`` stands for a comma within one."""
    support: Support = "honoured"
    reason: str = ""
    mend: str = ""
    """What to do instead of a refused value, where more is to be done than to choose another or to remove the property."""
    allowed: tuple[str, ...] | None = None
    strict: bool = False

    @property
    def attribute(self) -> str:
        """Name of the attribute of ``ConnectorConfig``: dots to underscores, capitals to snake case."""
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in self.name)
        return snake.replace(".", "_")

    @property
    def internal(self) -> bool:
        """Whether the property is meant for the connector's authors (prefix ``internal.``)."""
        return self.name.startswith("internal.")

    @property
    def read_only(self) -> bool:
        """Whether the property is read although no ConfigDef lists it."""
        return not self.versions

    @property
    def enumerated(self) -> bool:
        """Whether only the recommended values are legal."""
        return bool(self.choices) and self.type == "STRING" and not self.framework

    def checks_in(self, version: str) -> tuple[Check, ...]:
        """Give the checks of ``version``."""
        return self.checks_before if version == FORMER and self.checks_before is not None else self.checks

    def choices_in(self, version: str) -> tuple[str, ...]:
        """Give the recommended values of ``version``."""
        return self.choices_before if version == FORMER and self.choices_before else self.choices


@dataclass(frozen=True, slots=True)
class Family:
    """Properties that share a prefix or a pattern, with names of the user's choosing in them.

    ``pattern`` is a Python regular expression that the whole property name must match; ``shown`` is the form for people.
    """

    pattern: str
    shown: str
    doc: str
    support: Support = "honoured"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """A property's former name. ``values`` translates former values (lower case); others pass as they are.

    ``known`` holds where the played connector still reads the former name, and so checks its value.
    """

    old: str
    new: str
    values: tuple[tuple[str, str], ...] = ()
    known: bool = False
