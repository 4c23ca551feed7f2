"""The loggers of this process as Connect's ``/admin/loggers`` shows and sets them (KIP-495, KIP-976).

The loggers are those of Python's logging, by their own names, and ``root``. As in Kafka Connect a level that is set on a logger replaces
the levels of all loggers below it. It lasts until the process ends. Libraries whose lines below INFO hold secrets
(:data:`workers.telemetry.logging.CAPPED`) stay at INFO or above. The names of Debezium's and Kafka Connect's loggers are accepted too;
:data:`JAVA` maps them to loggers here. Levels are Log4j's words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from connect_api.herder import LoggerLevel
from connector.log import EventLog
from workers.telemetry.logging import LEVELS, LIBRARIES, may_log

LOG: Final = EventLog(__name__)

ROOT: Final = "root"
JAVA: Final[Mapping[str, tuple[str, ...]]] = {
    "io.debezium": ("connector",),
    "io.debezium.connector.postgresql": ("connector",),
    "io.debezium.connector.postgresql.PostgresConnectorTask": ("connector.runner.task",),
    "io.debezium.connector.postgresql.PostgresSnapshotChangeEventSource": ("connector.runner.snapshot",),
    "io.debezium.connector.postgresql.PostgresStreamingChangeEventSource": ("connector.runner.streaming",),
    "io.debezium.connector.postgresql.connection": ("connector.io",),
    "io.debezium.pipeline.notification": ("connector.runner.notifications.notifier",),
    "io.debezium.pipeline.signal": ("connector.runner.signaling.signals", "connector.runner.signaling.signal_channels"),
    "org.apache.kafka.clients": ("aiokafka",),
    "org.apache.kafka.connect": ("workers", "connect_api"),
    "org.apache.kafka.connect.runtime": ("workers",),
    "org.apache.kafka.connect.runtime.rest": ("connect_api",),
    "org.apache.kafka.connect.storage": ("workers.stores",),
    "org.eclipse.jetty": ("uvicorn",),
    "org.postgresql": ("psycopg",),
}
"""Java logger → loggers here. A name above several of them (``org.apache.kafka``) means all of their loggers."""

_WORDS: Final = {number: word for word, number in LEVELS.items() if word not in ("TRACE", "WARNING")}

_OFF: Final = "OFF"


class Loggers:
    """Reads and sets levels. ``now_ms`` is the wall clock; ``manager`` holds the loggers, Python's own by default."""

    def __init__(self, now_ms: Callable[[], int], manager: logging.Manager = logging.root.manager) -> None:
        self._now_ms = now_ms
        self._manager = manager
        self._words: dict[str, str] = {}
        """Logger → the word of its level as it was set, because Python has one number for DEBUG and TRACE."""
        self._modified: dict[str, int] = {}

    def all(self) -> dict[str, LoggerLevel]:
        """All loggers that are not off with their levels, in the order of their names."""
        found = {name: self._level(name, logger) for name, logger in sorted(self._existing())}
        return {name: level for name, level in found.items() if level.level != _OFF}

    def get(self, name: str) -> LoggerLevel | None:
        """The level of a logger; None if it does not exist."""
        found = self._find(name)
        return None if found is None else self._level(*found)

    def set(self, name: str, level: str) -> list[str]:
        """Set a level, in any case of its word. Returns the names of all loggers whose level has changed.

        A logger counts as changed too when it is switched off again: Connect does not list it, so it does not know that it was off.
        Raises ValueError for an unknown level.
        """
        word = level.strip().upper()
        if word not in LEVELS:
            raise ValueError(level)
        ours = [] if name.lower() == ROOT else stands_for(name)
        given = "WARN" if word == "WARNING" else word
        before = {known: self._word(logger) for known, logger in self._existing()}
        meant = (name, *ours)
        for each in meant:
            self._set_one(each, given if may_log(each, LEVELS[given]) else "INFO")
        changed = [
            known
            for known, logger in self._existing()
            if self._word(logger) != before.get(known, self._inherited(known, before))
            or (self._word(logger) == _OFF and any(_is_within(known, each) for each in meant))
        ]
        self._modified.update(dict.fromkeys(changed, self._now_ms()))
        LOG.info("log level set", of=name, to=word, **({"here": ",".join(ours)} if ours else {}))
        return sorted(changed)

    def follow(self, name: str, level: str) -> None:
        """Set a level on request of another worker. An unknown level is logged and has no effect."""
        try:
            self.set(name, level)
        except ValueError:
            LOG.warning("unknown log level ignored", of=name, to=level)

    def _set_one(self, name: str, word: str) -> None:
        found = self._find(name)
        known, logger = (name, self._manager.getLogger(name)) if found is None else found
        # A level that was set below would hide the new one.
        for below, other in self._existing():
            if other.level != logging.NOTSET and below != known and _is_within(below, known):
                self._words.pop(below, None)
                other.setLevel(logging.NOTSET)
        self._words[known] = word
        logger.setLevel(LEVELS[word])
        if known == ROOT:
            for library, level_beside in LIBRARIES.items():
                self._manager.getLogger(library).setLevel(level_beside(LEVELS[word]))

    def _existing(self) -> Iterator[tuple[str, logging.Logger]]:
        yield ROOT, self._manager.root
        yield from [(name, logger) for name, logger in self._manager.loggerDict.items() if isinstance(logger, logging.Logger)]

    def _find(self, name: str) -> tuple[str, logging.Logger] | None:
        if name.lower() == ROOT:
            return ROOT, self._manager.root
        logger = self._manager.loggerDict.get(name)
        return (name, logger) if isinstance(logger, logging.Logger) else None

    def _level(self, name: str, logger: logging.Logger) -> LoggerLevel:
        return LoggerLevel(self._word(logger), self._modified.get(name))

    def _word(self, logger: logging.Logger) -> str:
        """The effective level of the logger: its own, or that of the nearest logger above."""
        each: logging.Logger | None = logger
        while each is not None and each.level == logging.NOTSET:
            each = each.parent
        if each is None:
            return "ALL"
        word = self._words.get(ROOT if each is self._manager.root else each.name)
        if word is not None and LEVELS[word] == each.level:
            return word
        return next((word for number, word in sorted(_WORDS.items()) if each.level <= number), _OFF)

    def _inherited(self, name: str, words: Mapping[str, str]) -> str:
        """The effective level of a logger before it existed."""
        while "." in name:
            name = name.rpartition(".")[0]
            if name in words:
                return words[name]
        return words[ROOT]


def _is_within(name: str, namespace: str) -> bool:
    return namespace.lower() == ROOT or name == namespace or name.startswith(f"{namespace}.")


def stands_for(name: str) -> list[str]:
    """The loggers here that a Java name stands for, without those below another of them; empty for other names."""
    found = {ours for java, those in JAVA.items() if java == name or java.startswith(f"{name}.") for ours in those}
    return sorted(ours for ours in found if not any(ours.startswith(f"{other}.") for other in found))
