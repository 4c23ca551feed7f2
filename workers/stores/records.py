"""Reads records of the internal topics, which may hold anything that a user of the topic has written.

A store reads each record with these functions. It passes the failure of an unusable record to :func:`pass_over`, which names the record
in the log, and reads the next record. No reason quotes the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from connector.configdef.kafka_validators import LONGEST_NAME
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_MOST_DIGITS: Final = 9
"""The most digits of a task's number."""


class RecordError(ValueError):
    """The record is not Kafka Connect's. The text is the reason and does not quote the record."""


def key_text(key: bytes) -> str:
    """The key. Raises RecordError."""
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise RecordError("its key is not UTF-8") from None


def json_value(data: bytes, what: str = "value") -> Any:
    """The JSON value of a key or value; ``what`` says which, for the error. Raises RecordError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        raise RecordError(f"its {what} is not JSON in UTF-8, or nested too deep") from None


def json_object(data: bytes | None) -> Mapping[str, Any] | None:
    """The JSON object of a value; None for a deletion. Raises RecordError."""
    value = None if data is None else json_value(data)
    if value is not None and not isinstance(value, dict):
        raise RecordError("its value is not a JSON object")
    return value


def member(value: Mapping[str, Any], name: str, kind: type) -> Any:
    """A required member. Raises RecordError."""
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
    """The connector's name in a key. Raises RecordError for a name that no connector can have."""
    if not name:
        raise RecordError("its key names no connector")
    if len(name.encode()) > LONGEST_NAME:
        raise RecordError(f"the connector's name in its key has more than {LONGEST_NAME} bytes")
    return name


def task_name(text: str) -> tuple[str, int]:
    """Connector and number of ``<name>-<n>``; the name may hold dashes itself. Raises RecordError."""
    name, _, number = text.rpartition("-")
    if not number.isascii() or not number.isdigit() or len(number) > _MOST_DIGITS:
        raise RecordError("its key names no task")
    return connector_name(name), int(number)


def pass_over(topic: str, partition: int, offset: int, problem: Exception) -> None:
    """Log a record that is ignored, with the reason."""
    # The text of any other exception may quote the record.
    reason = str(problem) if isinstance(problem, RecordError) else f"it cannot be used: {type(problem).__name__}"
    LOG.warning("record of an internal topic passed over", topic=topic, partition=partition, offset=offset, reason=reason)
