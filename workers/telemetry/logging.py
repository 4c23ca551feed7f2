"""Formats the log: one line for each event on standard error, as ``key=value`` pairs or as a JSON object (``log.format``).

Modules log through :class:`connector.log.EventLog`, which puts an event's fields into the record's attribute ``fields``. The connector's
name comes from the context. A field whose name looks like a secret's has its value replaced here, so that no caller can leak a secret by
passing a configuration.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TextIO

from workers.settings.log_format import LogFormat
from workers.settings.references import references
from workers.telemetry.repeated_lines import RepeatedLines

HIDDEN: Final = "[hidden]"
_SECRET: Final = re.compile(r"password|passwd|secret|token|credential|jaas|private|keystore\.key|basic\.auth|api\.?key", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[^\s\"=\\]+")
_UNSEEN: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f"  # control characters: they move a terminal's cursor, and end lines
    r"\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # line ends, marks that turn text or are not seen
    r"\U000e0000-\U000e007f"  # letters that are not seen
    r"\ud800-\udfff]"  # halves of pairs, which cannot be written
)
"""Characters that a line of the log holds as escapes only."""
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
    # It logs faults from which it recovers by itself (a new topic's leader, a reconnect), and raises the others.
    "aiokafka": lambda root: logging.INFO if root <= logging.DEBUG else max(root, logging.CRITICAL),
    # It logs each request, and where it found credentials.
    "boto3": lambda root: max(root, logging.WARNING),
    "botocore": lambda root: max(root, logging.WARNING),
    # It logs a line for every call that is forwarded to another worker.
    "httpx": lambda root: max(root, logging.WARNING),
    "httpcore": lambda root: max(root, logging.WARNING),
    # This is its own default.
    "psycopg": lambda root: max(root, logging.WARNING),
    "urllib3": lambda root: max(root, logging.WARNING),
    "uvicorn": lambda root: max(root, logging.WARNING),
}
"""Libraries that log too much, and the level of each for a level of the root logger."""

CAPPED: Final = ("aiokafka", "boto3", "botocore", "httpcore", "httpx", "psycopg", "urllib3")
"""Libraries that log records, logins, secrets, connection strings or headers below INFO. Such a line is never written."""


def may_log(logger: str, level: int) -> bool:
    """Whether a line of the logger at this level may be written, whatever levels are set."""
    return level >= logging.INFO or logger.partition(".")[0] not in CAPPED


def is_secret(name: str) -> bool:
    """Whether a property of this name is treated as a secret."""
    return _SECRET.search(name) is not None


def redact(config: Mapping[str, str | None]) -> dict[str, str | None]:
    """``config`` with the values of secret-like properties replaced. A value that is one reference (``${...}``) is not secret and stays."""
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
    """Every text logged inside, also by tasks started inside, passes through ``hide`` before it is written."""
    token = _hide.set(hide)
    try:
        yield
    finally:
        _hide.reset(token)


def _quoted(value: object) -> str:
    """``value`` as text that cannot end the line, move a terminal's cursor or be taken for another field."""
    text = _hide.get()(str(value))
    escaped = _UNSEEN.sub(_escape, text.replace("\\", "\\\\").replace('"', '\\"'))
    return text if escaped == text and _PLAIN.fullmatch(text) else f'"{escaped}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or (f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}")


class KeyValueFormatter(logging.Formatter):
    """``time=… level=… logger=… connector=… msg="…" key=value …``, one physical line whatever the message holds."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record. A traceback is the last field, ``trace``."""
        parts = [f"time={_moment(record)}", f"level={record.levelname.lower()}", f"logger={_quoted(record.name)}"]
        name = _connector.get()
        fields: Mapping[str, object] = getattr(record, "fields", {})
        if name is not None and "connector" not in fields:
            parts.append(f"connector={_quoted(name)}")
        parts.append(f"msg={_quoted(record.getMessage())}")
        parts.extend(f"{_quoted(key)}={HIDDEN if is_secret(key) else _quoted(value)}" for key, value in fields.items())
        if record.exc_info:
            parts.append(f"trace={_quoted(self.formatException(record.exc_info))}")
        return " ".join(parts)


class JsonFormatter(logging.Formatter):
    """One JSON object for each record, on one physical line.

    Members: ``time``, ``level``, ``logger``, ``connector`` (absent outside of a connector), ``msg`` (the event), each field under its own
    name, ``trace`` (absent without an exception). Numbers, booleans, null, lists and objects keep their JSON type; other values are
    strings. A field that has the name of one of the fixed members is written with an underscore after it.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        line: dict[str, object] = {"time": _moment(record), "level": record.levelname.lower(), "logger": _member(record.name)}
        name = _connector.get()
        fields: Mapping[str, object] = getattr(record, "fields", {})
        if name is not None and "connector" not in fields:
            line["connector"] = _member(name)
        line["msg"] = _member(record.getMessage())
        line |= _members({f"{key}_" if key in _FIXED_MEMBERS else key: value for key, value in fields.items()})
        if record.exc_info:
            line["trace"] = _member(self.formatException(record.exc_info))
        return _UNSEEN.sub(_json_escape, json.dumps(line, ensure_ascii=False))


_FIXED_MEMBERS: Final = frozenset({"time", "level", "logger", "msg", "trace"})
_FORMATTERS: Final[Mapping[LogFormat, Callable[[], logging.Formatter]]] = {"text": KeyValueFormatter, "json": JsonFormatter}


def _moment(record: logging.LogRecord) -> str:
    """The record's time in UTC with milliseconds, such as ``2026-11-21T10:21:36.634Z``."""
    return dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _members(fields: Mapping[object, object]) -> dict[str, object]:
    return {_hide.get()(str(key)): HIDDEN if is_secret(str(key)) else _member(value) for key, value in fields.items()}


def _member(value: object) -> object:
    """``value`` as JSON can hold it: hidden values are replaced in every text, at any depth."""
    match value:
        case None | bool() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping():
            return _members(value)
        case list() | tuple():
            return [_member(item) for item in value]
        case _:
            return _hide.get()(str(value))


def _json_escape(match: re.Match[str]) -> str:
    # JSON writes characters above U+FFFF as two halves.
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def configure(level: str = "INFO", stream: TextIO | None = None, log_format: LogFormat = "text") -> None:
    """Send all logs from ``level`` on to ``stream`` (standard error by default). An unknown level means INFO."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(_FORMATTERS[log_format]())
    handler.addFilter(lambda record: may_log(record.name, record.levelno))
    handler.addFilter(RepeatedLines(_connector.get))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS.get(level.strip().upper(), logging.INFO))
    for library, level_beside in LIBRARIES.items():
        logging.getLogger(library).setLevel(level_beside(root.level))
