"""Logs: one line an event on standard error, ``key=value`` pairs, the connector's name taken from the context.

Modules log with the standard library (``logging.getLogger(__name__)``); fields go into ``extra={"fields": {...}}``. Values of
fields whose names look like a secret's are replaced here, so that no caller can leak one by passing a configuration.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TextIO

from workers.references import references

HIDDEN: Final = "[hidden]"
_SECRET: Final = re.compile(r"password|passwd|secret|token|credential|jaas|private|keystore\.key|basic\.auth|api\.?key", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[^\s\"=\\]+")
_UNSEEN: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f"  # control characters: they move a terminal's cursor, and end lines
    r"\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # line ends, marks that turn text or are not seen
    r"\U000e0000-\U000e007f"  # letters that are not seen
    r"\ud800-\udfff]"  # halves of pairs, which cannot be written
)
"""What a line of the log holds as an escape only."""
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_connector: ContextVar[str | None] = ContextVar("connector", default=None)
_hide: ContextVar[Callable[[str], str]] = ContextVar("hide", default=str)

LEVELS: Final = {
    "ALL": logging.NOTSET + 1,
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 1,
}
"""Log4j's words, as ``LOG_LEVEL`` and Connect's images use them."""

LIBRARIES: Final[Mapping[str, Callable[[int], int]]] = {
    # It logs what it then mends by itself (a new topic's leader, a reconnect); what it cannot mend it raises.
    "aiokafka": lambda root: logging.INFO if root <= logging.DEBUG else max(root, logging.CRITICAL),
    # A line for every call that is sent on to another worker.
    "httpx": lambda root: max(root, logging.WARNING),
    "httpcore": lambda root: max(root, logging.WARNING),
    # It has this level by itself where nobody gives it one.
    "psycopg": lambda root: max(root, logging.WARNING),
    "uvicorn": lambda root: max(root, logging.WARNING),
}
"""Libraries that tell too much, and the level that each has beside the root's."""

CAPPED: Final = ("aiokafka", "httpcore", "httpx", "psycopg")
"""Libraries that log records, logins, connection strings or headers below INFO. No such line is ever written."""


def may_log(logger: str, level: int) -> bool:
    """Whether a line of the logger with this level may be written, whatever levels are set."""
    return level >= logging.INFO or logger.partition(".")[0] not in CAPPED


def is_secret(name: str) -> bool:
    """Whether a property of this name is treated as a secret."""
    return _SECRET.search(name) is not None


def redact(config: Mapping[str, str | None]) -> dict[str, str | None]:
    """``config`` with the values of secret-like properties replaced; a value that is one reference (``${...}``) is no secret and stays."""
    return {k: HIDDEN if v is not None and is_secret(k) and not _is_reference(v) else v for k, v in config.items()}


def _is_reference(value: str) -> bool:
    return any(found.begin == 0 and found.end == len(value) for found in references(value))


@contextmanager
def connector_context(name: str) -> Iterator[None]:
    """Every line logged inside, also by tasks started inside, carries ``connector=name``."""
    token = _connector.set(name)
    try:
        yield
    finally:
        _connector.reset(token)


@contextmanager
def hiding(hide: Callable[[str], str]) -> Iterator[None]:
    """Every line logged inside, also by tasks started inside, is logged as ``hide`` gives it."""
    token = _hide.set(hide)
    try:
        yield
    finally:
        _hide.reset(token)


def _quoted(value: object) -> str:
    """``value`` for a line: nothing in it ends the line, moves a cursor, or looks like something else."""
    text = _hide.get()(str(value))
    escaped = _UNSEEN.sub(_escape, text.replace("\\", "\\\\").replace('"', '\\"'))
    return text if escaped == text and _PLAIN.fullmatch(text) else f'"{escaped}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or (f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}")


class KeyValueFormatter(logging.Formatter):
    """``time=… level=… logger=… connector=… msg="…" key=value …``, one physical line whatever the message holds."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record; a traceback follows as the field ``trace``."""
        moment = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds")
        parts = [f"time={moment.replace('+00:00', 'Z')}", f"level={record.levelname.lower()}", f"logger={_quoted(record.name)}"]
        name = _connector.get()
        fields: Mapping[str, object] = getattr(record, "fields", {})
        if name is not None and "connector" not in fields:
            parts.append(f"connector={_quoted(name)}")
        parts.append(f"msg={_quoted(record.getMessage())}")
        parts.extend(f"{_quoted(key)}={HIDDEN if is_secret(key) else _quoted(value)}" for key, value in fields.items())
        if record.exc_info:
            parts.append(f"trace={_quoted(self.formatException(record.exc_info))}")
        return " ".join(parts)


def configure(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send all logs to ``stream`` (standard error) from ``level`` on; an unknown word means INFO."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(KeyValueFormatter())
    handler.addFilter(lambda record: may_log(record.name, record.levelno))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS.get(level.strip().upper(), logging.INFO))
    for library, level_beside in LIBRARIES.items():
        logging.getLogger(library).setLevel(level_beside(root.level))
