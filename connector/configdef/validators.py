"""Validators of single values, with Debezium's and Kafka's texts.

A validator takes a key, its value (or default, or None) and all settings, and yields problems. Debezium's number validators do not trim
the value, Kafka's do. The texts of both versions were recorded from a live Connect worker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import re2

from connector.configdef.key import Key, Settings, Validator
from connector.configdef.patterns import regex_problem, split_regexes
from connector.java.numbers import NumberError, parse_integer
from connector.java.regex.translation import too_long
from connector.java.splitting import java_split
from connector.java.trim import trim

_SHORT: Final = 2**15
_INT: Final = 2**31
_LONG: Final = 2**63
_JAVA_CLASS: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*(?:\.(?:[^\W\d]|\$)[\w$]*)*")
_KEYWORDS: Final = re.compile(
    r"(?:.*\.)?(?:_|abstract|assert|boolean|break|byte|case|catch|char|class|const|continue|default|do|double|else|enum|extends|false|final|"
    r"finally|float|for|goto|if|implements|import|instanceof|int|interface|long|native|new|null|package|private|protected|public|return|"
    r"short|static|strictfp|super|switch|synchronized|this|throws?|transient|true|try|void|volatile|while)(?:\..*)?"
)
"""Names with a part that cannot be one in Java 17 (Java Language Specification, 3.9 and 3.10)."""
_NAME_CHARACTERS: Final = re.compile(r"[a-zA-Z0-9_.\-]+")
_SLOT_NAME: Final = re.compile(r"[a-z0-9_]{1,63}")

KEY_COLUMNS: Final = r"^\s*([^:]+):([^:,]+(,[^:,]+)*)\s*$"
KEY_COLUMNS_BEFORE: Final = r"^\s*([^\s:]+):([^:\s]+)\s*$"
KEY_COLUMNS_READ: Final = re2.compile(KEY_COLUMNS)
"""Matches with RE2: for a long entry without a colon, a backtracking engine takes time quadratic in its length."""
REPLICA_IDENTITY_SHOWN: Final = (
    r"(?i)^\s*(?<tablepredicate>[^\s:]+):(?<replicaidentity>DEFAULT|(INDEX) (?<indexname>.\w*)|FULL|NOTHING)\s*$"
)
REPLICA_IDENTITY: Final = re.compile(r"\s*([^\s:]+):(DEFAULT|INDEX (.\w*)|FULL|NOTHING)\s*", re.IGNORECASE)


def java_int(text: str, limit: int = _INT) -> int | None:
    """Return ``text`` as Java's ``Integer.valueOf`` reads it (``Long.valueOf`` with ``limit`` 2**63); None if Java refuses it."""
    try:
        return parse_integer(text, limit.bit_length())
    except NumberError:
        return None


def java_long(text: str) -> int | None:
    """Return ``text`` as Java's ``Long.valueOf`` reads it; None if Java refuses it."""
    return java_int(text, _LONG)


def java_short(text: str) -> int | None:
    """Return ``text`` as Java's ``Short.valueOf`` reads it; None if Java refuses it."""
    return java_int(text, _SHORT)


def integer(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a 32-bit integer, or None."""
    if value is not None and java_int(value) is None:
        yield "An integer is expected"


def long(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a 64-bit integer, or None."""
    if value is not None and java_long(value) is None:
        yield "A long value is expected"


def positive_integer(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a 32-bit integer of 1 or more."""
    if value is not None and (java_int(value) or 0) <= 0:
        yield "A positive, non-zero integer value is expected"


def non_negative_integer(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a 32-bit integer of 0 or more."""
    if value is not None:
        number = java_int(value)
        if number is None or number < 0:
            yield "An non-negative integer is expected"


def positive_long(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a 64-bit integer of 1 or more."""
    if value is not None and (java_long(value) or 0) <= 0:
        yield "A positive, non-zero long value is expected"


def non_negative_long(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a 64-bit integer of 0 or more."""
    if value is not None:
        number = java_long(value)
        if number is None or number < 0:
            yield "A non-negative long value is expected"


def boolean(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require ``true`` or ``false``, in any case."""
    if value is not None and trim(value).lower() not in ("true", "false"):
        yield "Either 'true' or 'false' is expected"


def required(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a text other than blanks."""
    if value is None or not trim(value):
        yield "A value is required"


def class_name(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require a possible name of a Java class."""
    if value is not None and (not _JAVA_CLASS.fullmatch(value) or _KEYWORDS.fullmatch(value)):
        yield "A Java class name is expected"


def regexes(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require regular expressions that Java compiles. Reports the first malformed one."""
    if value is None:
        return
    if (len(value) - len(value.rstrip("\\"))) % 2:
        # Debezium's reader throws here and Connect answers 500. An error of the property is more useful.
        yield "Unterminated escape sequence at the end of the string"
        return
    patterns = split_regexes(value)
    if (too_much := too_long(patterns)) is not None:
        yield too_much
        return
    for pattern in patterns:
        problem = regex_problem(pattern)
        if problem:
            yield f"A comma-separated list of valid regular expressions is expected, but {problem}"
            return


def name_characters(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require letters, digits, underscore, hyphen and dot. An empty value is refused too."""
    if value is not None and not _NAME_CHARACTERS.fullmatch(value):
        yield f"{value} has invalid format (only the underscore, hyphen, dot and alphanumeric characters are allowed)"


def hostname(key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require a host name or an IPv4 address. :func:`required` reports a blank one."""
    if value is not None and trim(value):
        yield from name_characters(key, value, settings)


def slot_name(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require PostgreSQL's form for replication slots (manual, 26.2.6)."""
    if value is not None and not _SLOT_NAME.fullmatch(value):
        yield "Valid replication slot name must contain only digits, lowercase characters and underscores with length <= 63"


def queue_size(_key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require a positive number, and more than ``max.batch.size``."""
    size = java_int(value or "")
    if size is None:
        return
    if size <= 0:
        yield "A positive queue size is required"
    batch = java_int(settings.get("max.batch.size", "2048"))
    if size <= (2048 if batch is None else batch):
        yield "Must be larger than the maximum batch size"


def operations(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require operation codes of change events, or only ``none``."""
    if value is None:
        return
    codes = [trim(code) for code in java_split(value, ",")]
    none = False
    for position, code in enumerate(codes):
        if code == "none":
            none = True
        elif code not in ("c", "u", "d", "t", "r"):
            yield "Invalid operation"
            return
        if none and position:
            yield "'none' cannot be specified with other skipped operation types"
            return


def key_value_pairs(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require ``k1=v1,k2=v2``; an empty value holds no pairs."""
    if value is None or not trim(value):
        return
    if any(_broken_pair(pair) for pair in java_split(value, ",")):
        yield "A equivalent-separated map of valid key/value pairs is expected, for example: k1=v1,k2=v2"


def _broken_pair(pair: str) -> bool:
    return len(java_split(trim(pair), "=")) != 2


def metric_tags(key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require the same, with names that a JMX ObjectName allows, as since 3.7.0."""
    problems = list(key_value_pairs(key, value, settings))
    yield from problems
    if value is None or not trim(value) or problems:
        return
    for name in (pair.partition("=")[0] for pair in java_split(value, ",")):
        if not name or set(name) & set(",=:*?"):
            yield f"The custom metric tag key '{name}' is not a valid JMX ObjectName property key"
            return


def one_collection(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Allow at most one entry, because the connector runs one task."""
    if value is not None and len(java_split(value, ",")) > 1:
        yield "For single task connector only one signal data collection is permitted."


def key_columns(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require ``table-regex:column,column;...``."""
    yield from _key_columns(value, KEY_COLUMNS)


def key_columns_before(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require the same in 2.3.4, where names of tables and columns may not contain blanks."""
    yield from _key_columns(value, KEY_COLUMNS_BEFORE)


def _key_columns(value: str | None, pattern: str) -> Iterator[str]:
    if value is None:
        return
    if not value:
        yield "Must not be empty"
    for entry in java_split(value, ";"):
        if not re2.match(pattern, entry):
            yield f"{entry} has an invalid format (expecting '{pattern}')"


def replica_identity(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require ``table-regex:identity,...`` with DEFAULT, FULL, NOTHING or ``INDEX name`` (PostgreSQL manual, ALTER TABLE)."""
    if value is None:
        return
    if not value:
        yield "Must not be empty"
    for entry in java_split(value, ","):
        if not REPLICA_IDENTITY.fullmatch(entry):
            yield f"{entry} has an invalid format (expecting '{REPLICA_IDENTITY_SHOWN}')"


def conflicts_with(other: str, shown: str = "") -> _Conflict:
    """Refuse an exclude list together with the include list ``other``; ``shown`` is the name that the real connector prints."""
    return _Conflict(other, shown or other)


class _Conflict:
    def __init__(self, other: str, shown: str) -> None:
        self.other = other
        self.shown = shown

    def __call__(self, _key: Key, value: str | None, settings: Settings) -> Iterator[str]:
        if value is not None and settings.get(self.other) is not None:
            yield f'"{self.shown}" is already specified'


def named_when_custom(mode: str, shown: str = "") -> _NamedWhenCustom:
    """Require a name if the property ``mode`` is ``custom``; ``shown`` as for :func:`conflicts_with`."""
    return _NamedWhenCustom(mode, shown)


class _NamedWhenCustom:
    def __init__(self, mode: str, shown: str) -> None:
        self.mode = mode
        self.shown = shown

    def __call__(self, key: Key, value: str | None, settings: Settings) -> Iterator[str]:
        # Debezium compares without trimming here. A mode with blanks is read as custom nevertheless, and then the task fails.
        if settings.get(self.mode, "").lower() == "custom" and not value:
            yield f"{self.shown or key.name} cannot be empty when {self.mode} 'custom' is defined"


def python_when_custom(mode: str) -> Validator:
    """Require the name of a Python class if the property ``mode`` is ``custom``: a name with dots and without colon is a Java class."""

    def check(_key: Key, value: str | None, settings: Settings) -> Iterator[str]:
        named = trim(value or "")
        if trim(settings.get(mode, "")).lower() == "custom" and "." in named and ":" not in named:
            yield (
                f"It names the Java class {named}, and Java classes cannot be loaded; write it again in Python "
                "(`understudy docs extending`) and name it as package.module:Class"
            )

    return check


def sink_topic(_key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require the notification topic if the channel ``sink`` is enabled."""
    channels = [trim(channel) for channel in settings.get("notification.enabled.channels", "").split(",")]
    if "sink" in channels and not trim(value or ""):
        yield "Notification topic name must be provided when kafka notification channel is enabled"
