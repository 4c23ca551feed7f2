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

HIDDEN: Final = "[hidden]"
_SECRET: Final = re.compile(r"password|passwd|secret|token|credential|jaas|private|keystore\.key|basic\.auth|api\.?key", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[^\s\"=\\]+")
_connector: ContextVar[str | None] = ContextVar("connector", default=None)

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
    "aiokafka": lambda root: root if root <= logging.DEBUG else max(root, logging.CRITICAL),
    # A line for every call that is sent on to another worker.
    "httpx": lambda root: max(root, logging.WARNING),
    "httpcore": lambda root: max(root, logging.WARNING),
    # It has this level by itself where nobody gives it one.
    "psycopg": lambda root: max(root, logging.WARNING),
    "uvicorn": lambda root: max(root, logging.WARNING),
}
"""Libraries that tell too much, and the level that each has beside the root's."""


def is_secret(name: str) -> bool:
    """Whether a property of this name is treated as a secret."""
    return _SECRET.search(name) is not None


def redact(config: Mapping[str, str | None]) -> dict[str, str | None]:
    """``config`` with the values of secret-like properties replaced; references (``${...}``) hold no secret and stay."""
    return {k: HIDDEN if v is not None and is_secret(k) and not v.startswith("${") else v for k, v in config.items()}


@contextmanager
def connector_context(name: str) -> Iterator[None]:
    """Every line logged inside, also by tasks started inside, carries ``connector=name``."""
    token = _connector.set(name)
    try:
        yield
    finally:
        _connector.reset(token)


def _quoted(value: object) -> str:
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r").replace("\n", "\\n")
    return f'"{escaped}"'


class KeyValueFormatter(logging.Formatter):
    """``time=… level=… logger=… connector=… msg="…" key=value …``, one physical line whatever the message holds."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record; a traceback follows as the field ``trace``."""
        moment = dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds")
        parts = [f"time={moment.replace('+00:00', 'Z')}", f"level={record.levelname.lower()}", f"logger={record.name}"]
        name = _connector.get()
        fields: Mapping[str, object] = getattr(record, "fields", {})
        if name is not None and "connector" not in fields:
            parts.append(f"connector={_quoted(name)}")
        parts.append(f"msg={_quoted(record.getMessage())}")
        parts.extend(f"{key}={HIDDEN if is_secret(key) else _quoted(value)}" for key, value in fields.items())
        if record.exc_info:
            parts.append(f"trace={_quoted(self.formatException(record.exc_info))}")
        return " ".join(parts)


def _tells_no_login(record: logging.LogRecord) -> bool:
    """Leaves out the requests that carry passwords and tokens, which the library would write in full when it is set to DEBUG."""
    arguments = record.args if isinstance(record.args, tuple) else ()
    return not any(type(argument).__name__.startswith("SaslAuthenticate") for argument in arguments)


def configure(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send all logs to ``stream`` (standard error) from ``level`` on; an unknown word means INFO."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(KeyValueFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS.get(level.strip().upper(), logging.INFO))
    for library, level_beside in LIBRARIES.items():
        logging.getLogger(library).setLevel(level_beside(root.level))
    logging.getLogger("aiokafka.conn").addFilter(_tells_no_login)
