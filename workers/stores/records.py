"""How records of the internal topics are read: whoever may write to a topic may write anything into it.

A store reads each record by these functions and gives what it cannot read to :func:`pass_over`: it is named in the log, and the next record
is read. No reason holds anything of the record.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import orjson

LOGGER: Final = logging.getLogger(__name__)

_MOST_DIGITS: Final = 9
"""Of a task's number."""
_LONGEST_NAME: Final = 32_000
"""Bytes of a connector's name: the id of its producer, which holds it, has at most 32,767 in Kafka's protocol."""


class RecordError(ValueError):
    """A record that is not Kafka Connect's; the text is the reason, without anything of the record."""


def key_text(key: bytes) -> str:
    """The key. Raises RecordError."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise RecordError("its key is not UTF-8") from None


def json_value(data: bytes, what: str = "value") -> Any:
    """The JSON of a key or value, ``what`` saying of which. Raises RecordError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        raise RecordError(f"its {what} is not JSON in UTF-8, or nested too deep") from None


def json_object(data: bytes | None) -> Mapping[str, Any] | None:
    """The JSON object of a value; None for one that removes what was there. Raises RecordError."""
    value = None if data is None else json_value(data)
    if value is not None and not isinstance(value, dict):
        raise RecordError("its value is no JSON object")
    return value


def member(value: Mapping[str, Any], name: str, kind: type) -> Any:
    """A member that must be there. Raises RecordError."""
    found = value.get(name)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise RecordError(f"its {name} is missing or of the wrong type")
    return found


def optional_text(value: Mapping[str, Any], name: str) -> str | None:
    """A member that may be null or missing. Raises RecordError."""
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise RecordError(f"its {name} is of the wrong type")
    return found


def connector_name(name: str) -> str:
    """A connector's name out of a key. Raises RecordError for one that no connector could run under."""
    if not name:
        raise RecordError("its key names no connector")
    if len(name.encode()) > _LONGEST_NAME:
        raise RecordError(f"the connector's name in its key has more than {_LONGEST_NAME} bytes")
    return name


def task_name(text: str) -> tuple[str, int]:
    """Connector and number of ``<name>-<n>``; the name may hold dashes itself. Raises RecordError."""
    name, _, number = text.rpartition("-")
    if not number.isascii() or not number.isdigit() or len(number) > _MOST_DIGITS:
        raise RecordError("its key names no task")
    return connector_name(name), int(number)


def pass_over(topic: str, partition: int, offset: int, problem: Exception) -> None:
    """Name a record that is left out, and why."""
    # The text of any other exception may hold something of the record.
    reason = str(problem) if isinstance(problem, RecordError) else f"it cannot be used: {type(problem).__name__}"
    LOGGER.warning(
        "record of an internal topic passed over",
        extra={"fields": {"topic": topic, "partition": partition, "offset": offset, "reason": reason}},
    )
