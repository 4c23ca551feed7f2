"""Parsers of the properties that carry data in their names or in a special text form.

Each parser takes the settings under their present names and raises :class:`FamilyProblem` with all malformed properties.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from connector.config.keys import BY_NAME, FAMILIES
from connector.config.keys.families import DRIVER, HASH, HASH_V2, MASK, SELECT_OVERRIDE, THREADS, TOPIC_CREATION, TRUNCATE
from connector.config.keys.named_classes import NamedClasses
from connector.configdef.patterns import regex_problem, split_regexes
from connector.configdef.validators import KEY_COLUMNS_READ, REPLICA_IDENTITY, java_int, java_short
from connector.emulation import Emulation
from connector.java.regex.translation import too_long

MaskKind = Literal["mask", "truncate", "hash", "hash_v2"]

_MASKS: Final[tuple[tuple[MaskKind, re.Pattern[str]], ...]] = (
    ("mask", re.compile(MASK)),
    ("truncate", re.compile(TRUNCATE)),
    ("hash_v2", re.compile(HASH_V2)),
    ("hash", re.compile(HASH)),
)
_JAVA_DIGESTS: Final = {"MD2": "", "SHA": "sha1"}


class FamilyProblem(ValueError):  # noqa: N818 -- a finding about the configuration, gathered with others
    """Malformed properties, one line for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ColumnMask:
    """A property that masks the text of columns.

    ``columns`` are regular expressions of ``schema.table.column``. ``length`` is the number of asterisks (mask) or of the remaining
    characters (truncate), 0 for hashes. ``key`` is the property's name without its salt. ``digest`` is hashlib's name of a hash algorithm.
    """

    kind: MaskKind
    columns: tuple[str, ...]
    length: int = 0
    digest: str = ""
    salt: str = field(default="", repr=False)
    key: str = "column.mask"


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The columns, in order, of the record key of tables whose ``schema.table`` matches ``table``."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplicaIdentity:
    """The replica identity for tables whose ``schema.table`` matches ``table``; ``index`` is set only with INDEX."""

    table: str
    identity: Literal["DEFAULT", "FULL", "NOTHING", "INDEX"]
    index: str | None = None


@dataclass(frozen=True, slots=True)
class NamedConverter:
    """A name of ``converters``: the class that ``<name>.type`` names, and all properties ``<name>.*`` without that prefix."""

    name: str
    type: str
    properties: Mapping[str, str] = field(repr=False)


def column_converters(settings: Mapping[str, str]) -> tuple[NamedConverter, ...]:
    """Read ``converters``, in the order of the names. Validation reports a type that does not name a Python class."""
    names = NamedClasses(settings.get("converters"))
    named: dict[str, dict[str, str]] = {name: {} for name in names}
    for setting, value in settings.items():
        for name in names.owners(setting):
            named[name][setting[len(name) + 1 :]] = value
    found = tuple(NamedConverter(name, own.get("type", "").strip(), MappingProxyType(own)) for name, own in named.items())
    _raise(
        [
            f"The '{entry.name}.type' value is invalid: A Python class is expected, for converters names {entry.name}"
            for entry in found
            if not entry.type
        ]
    )
    return found


def column_masks(settings: Mapping[str, str], emulation: Emulation) -> tuple[ColumnMask, ...]:
    """Read ``column.mask.*`` and ``column.truncate.*``, in the order they were given."""
    masks: list[ColumnMask] = []
    problems: list[str] = []
    for name, value in settings.items():
        for kind, pattern in _MASKS:
            match = pattern.fullmatch(name)
            if match is None:
                continue
            parts = match.groupdict()
            # The salt is a secret and part of the name. Errors show the name without it.
            shown = name.split(".with.salt.")[0] + (".with.salt.…" if "salt" in parts else "")
            columns = tuple(split_regexes(value))
            problems += [
                f"The '{shown}' value is invalid: A comma-separated list of valid regular expressions is expected, but {problem}"
                for problem in map(regex_problem, columns)
                if problem
            ]
            digest = _digest(parts["algorithm"]) if "algorithm" in parts else ""
            if digest is None:
                problems.append(f"The '{shown}' property is invalid: There is no digest algorithm {parts['algorithm']}")
                break
            length = java_int(parts.get("length", "0"))
            least = 1 if kind == "truncate" and not emulation.truncates_to_nothing else 0
            if length is None or length < least:
                problems.append(f"The '{shown}' property is invalid: A length of {least} to 2147483647 is expected in its name")
                break
            masks.append(ColumnMask(kind, columns, length, digest, parts.get("salt", ""), shown))
            break
    _raise(problems)
    return tuple(masks)


def _digest(algorithm: str) -> str | None:
    """Return hashlib's name for an algorithm of Java's MessageDigest (SHA-256, SHA3-256, MD5, SHA-512/256); None if it is unknown."""
    wanted = algorithm.upper()
    name = _JAVA_DIGESTS.get(wanted) or wanted.lower().replace("sha-", "sha").replace("/", "_").replace("-", "_")
    # SHAKE has no fixed length.
    return name if name in hashlib.algorithms_available and not name.startswith("shake") else None


def key_columns(settings: Mapping[str, str]) -> tuple[KeyColumns, ...]:
    """Read ``message.key.columns``: ``table-regex:column,column;...``. Validation reports malformed entries."""
    rules: list[KeyColumns] = []
    problems: list[str] = []
    for entry in settings.get("message.key.columns", "").split(";"):
        match = KEY_COLUMNS_READ.match(entry)
        if match is None:
            continue
        table = match.group(1).strip()
        problem = regex_problem(table)
        if problem:
            problems.append(f"The 'message.key.columns' value is invalid: {problem}")
        rules.append(KeyColumns(table, tuple(column.strip() for column in match.group(2).split(","))))
    if (too_much := too_long(rule.table for rule in rules)) is not None:
        problems.append(f"The 'message.key.columns' value is invalid: {too_much}")
    _raise(problems)
    return tuple(rules)


def replica_identities(settings: Mapping[str, str]) -> tuple[ReplicaIdentity, ...]:
    """Read ``replica.identity.autoset.values``. Validation reports malformed entries."""
    rules: list[ReplicaIdentity] = []
    problems: list[str] = []
    for entry in settings.get("replica.identity.autoset.values", "").split(","):
        match = REPLICA_IDENTITY.fullmatch(entry)
        if match is None:
            continue
        table, identity, index = match.groups()
        problem = regex_problem(table)
        if problem:
            problems.append(f"The 'replica.identity.autoset.values' value is invalid: {problem}")
        word: Literal["DEFAULT", "FULL", "NOTHING", "INDEX"]
        match identity.upper():
            case "DEFAULT":
                word = "DEFAULT"
            case "FULL":
                word = "FULL"
            case "NOTHING":
                word = "NOTHING"
            case _:
                word = "INDEX"
        rules.append(ReplicaIdentity(table, word, index))
    if (too_much := too_long(rule.table for rule in rules)) is not None:
        problems.append(f"The 'replica.identity.autoset.values' value is invalid: {too_much}")
    _raise(problems)
    return tuple(rules)


def select_overrides(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Read ``snapshot.select.statement.overrides``. A table without a statement is left out (see :func:`oddities`)."""
    statements_by_table = {table: settings.get(_prefix(SELECT_OVERRIDE) + table, "").strip() for table in _overridden(settings)}
    return MappingProxyType({table: statement for table, statement in statements_by_table.items() if statement})


def _overridden(settings: Mapping[str, str]) -> list[str]:
    listed = settings.get("snapshot.select.statement.overrides", "")
    return [entry.strip() for entry in listed.split(",") if entry.strip()]


def thread_multipliers(settings: Mapping[str, str]) -> Mapping[str, int]:
    """Read ``snapshot.max.threads.multiplier.<schema>.<table>``: whole numbers of 1 or more."""
    prefix = _prefix(THREADS)
    numbers: dict[str, int] = {}
    problems: list[str] = []
    for table, text in prefixed(settings, prefix).items():
        number = java_int(text)
        if number is None or number < 1:
            problems.append(f"The '{prefix}{table}' value is invalid: A positive, non-zero integer value is expected")
        else:
            numbers[table] = number
    _raise(problems)
    return MappingProxyType(numbers)


def stream_options(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Read ``slot.stream.params``: ``name=value`` pairs joined by semicolons. Other entries are left out (see :func:`oddities`)."""
    pairs = [entry.partition("=") for entry in settings.get("slot.stream.params", "").split(";")]
    return MappingProxyType({name.strip(): value.strip() for name, equals, value in pairs if equals and name.strip()})


def oddities(settings: Mapping[str, str]) -> list[str]:
    """Return notices about incomplete entries, which are left out. Debezium ignores them without a message."""
    warnings: list[str] = []
    for table in _overridden(settings):
        name = _prefix(SELECT_OVERRIDE) + table
        if not settings.get(name, "").strip():
            warnings.append(
                f"Property snapshot.select.statement.overrides names {table}, but {name} holds no statement; it is read as usual."
            )
    entries = [entry.strip() for entry in settings.get("slot.stream.params", "").split(";") if entry.strip()]
    if len(entries) > len(stream_options(settings)):
        warnings.append("Property slot.stream.params holds entries that are no name=value pairs; they have no effect.")
    return warnings


def statements(text: str) -> tuple[str, ...]:
    """Split SQL at semicolons; two semicolons in a row stand for one within a statement."""
    parts = re.split(r"(?<!;);(?!;)", text)
    return tuple(part.replace(";;", ";").strip() for part in parts if part.strip())


def topic_creation(settings: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Read ``topic.creation.<group>.<setting>`` of the group ``default`` and of the named groups (KIP-158)."""
    named = dict.fromkeys(filter(None, map(str.strip, settings.get("topic.creation.groups", "").split(","))))
    found: dict[str, dict[str, str]] = {}
    problems: list[str] = []
    pattern = re.compile(TOPIC_CREATION)
    for name, value in settings.items():
        match = pattern.fullmatch(name)
        if match is None:
            continue
        group, setting = match["group"], match["setting"]
        if group != "default" and group not in named:
            continue
        problem = _creation_problem(setting, value)
        if problem:
            problems.append(f"Invalid value {value} for configuration {name}: {problem}")
        found.setdefault(group, {})[setting] = value.strip()
    if named or found:
        # As in Kafka Connect, the default group must be complete if anything is set.
        problems += [
            f'Missing required configuration "topic.creation.default.{setting}" which has no default value.'
            for setting in ("replication.factor", "partitions")
            if setting not in found.get("default", {})
        ]
    _raise(problems)
    order = ["default", *(group for group in named if group != "default")]
    return MappingProxyType({group: MappingProxyType(found[group]) for group in order if group in found})


def _creation_problem(setting: str, value: str) -> str | None:
    if setting in ("partitions", "replication.factor"):
        number = (java_int if setting == "partitions" else java_short)(value.strip())
        if number is None:
            return "Not a number of type " + ("INT" if setting == "partitions" else "SHORT")
        return None if number == -1 or number >= 1 else "Value must be -1, for the broker's default, or at least 1"
    if setting in ("include", "exclude"):
        return next(filter(None, map(regex_problem, split_regexes(value))), None)
    return None


def signal_topic(settings: Mapping[str, str]) -> None:
    """Require the Kafka cluster of the signal channel ``kafka``, without which Debezium's task fails. No other property provides it."""
    channels = [name.strip() for name in settings.get("signal.enabled.channels", "").split(",")]
    if "kafka" in channels and not settings.get("signal.kafka.bootstrap.servers", "").strip():
        raise FamilyProblem(
            ["The 'signal.kafka.bootstrap.servers' value is invalid: A value is required when the signal channel kafka is enabled"]
        )


def driver_settings(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Collect the further connection settings: ``database.*`` that no other property uses, and ``driver.*``, which takes precedence."""
    taken: dict[str, str] = {}
    own = {family.pattern for family in FAMILIES if family.pattern != DRIVER}
    for prefix in ("database.", "driver."):
        for name, value in settings.items():
            known = name in BY_NAME or any(re.fullmatch(pattern, name) for pattern in own)
            if name.startswith(prefix) and not known:
                taken[name.removeprefix(prefix)] = value
    return MappingProxyType(taken)


def prefixed(settings: Mapping[str, str], prefix: str) -> Mapping[str, str]:
    """Return the settings whose names begin with ``prefix``, without the prefix."""
    return MappingProxyType({name[len(prefix) :]: value for name, value in settings.items() if name.startswith(prefix)})


def _prefix(pattern: str) -> str:
    return pattern.split("(", maxsplit=1)[0].replace("\\", "")


def _raise(problems: list[str]) -> None:
    if problems:
        raise FamilyProblem(problems)
