"""Messages between this program and its child processes, over a private socket pair.

A message consists of its length (8 bytes) and a pickle. A pickle is safe, because both ends are the same program. The socket pair hides
the configuration with its passwords, which arguments or the environment would show. Each kind of child has its own messages; the messages
in this module are common to all of them.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connector.errors import CdcError, ErrorKind

_LENGTH: Final = struct.Struct(">Q")

Plain = str | int | float | bool | None
"""The types of a log line's fields in a message."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A line of a child's log: the text ``event`` and its fields."""

    logger: str
    level: int
    event: str
    fields: Mapping[str, Plain] = field(default_factory=dict)

    @classmethod
    def of(cls, record: logging.LogRecord) -> Logged:
        """Return the line of ``record``. Of its exception, if any, only the type is kept, because the text may contain a cell value."""
        fields: dict[str, Plain] = {
            name: value if isinstance(value, str | int | float | None) else str(value)
            for name, value in getattr(record, "fields", {}).items()
        }
        if record.exc_info and record.exc_info[0] is not None:
            fields["exception"] = record.exc_info[0].__name__
        return cls(record.name, record.levelno, record.getMessage(), fields)

    def write(self) -> None:
        """Log the line in this process, with the logger of the child's module."""
        logging.getLogger(self.logger).log(self.level, self.event, extra={"fields": dict(self.fields)})


@dataclass(frozen=True, slots=True)
class Failed:
    """The child failed with a CdcError: its parts, with ``kind`` as its value."""

    kind: str
    message: str
    remedy: str
    detail: str

    @property
    def error(self) -> CdcError:
        """The CdcError with these parts."""
        return CdcError(ErrorKind(self.kind), self.message, self.remedy, self.detail)


def send(writer: asyncio.StreamWriter, message: object) -> None:
    """Write a message to the socket without waiting."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    writer.write(_LENGTH.pack(len(body)) + body)


async def receive(reader: asyncio.StreamReader) -> object | None:
    """Return the next message; None if the other end is closed."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        return pickle.loads(await reader.readexactly(length))  # type: ignore[no-any-return]  # noqa: S301 (both ends are ours: see the top)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
