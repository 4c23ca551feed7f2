"""Parses the signals of the channels ``kafka`` and ``file``: JSON objects with ``id``, ``type`` and ``data``.

Pure. What is accepted is as recorded from Debezium. In the topic, a signal whose id is missing or not a string gets a new id; in the file,
such a line is refused. Text after the object is ignored. There are two differences, because in Debezium both cases end the channel
``kafka`` until a restart: a string as ``data`` is refused, and missing data counts as empty data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from connector.signals.lenient_json import read_document
from connector.signals.signal import Signal, SignalError

NewId = Callable[[], str]


def read_record(key: bytes | None, value: bytes | None, connector_name: str, offset: int, new_id: NewId) -> Signal | None:
    """Return the signal in a record of the signal topic; None if the key is not this connector's ``topic.prefix``.

    Raises SignalError, whose message quotes nothing of the record.
    """
    if key != connector_name.encode():
        return None
    if value is None:
        raise SignalError("it has no value")
    members = _object(value)
    given = members.get("id")
    named = isinstance(given, str)
    return Signal(given if isinstance(given, str) else new_id(), _type(members), _data(members), "kafka", {"channelOffset": offset}, named)


def read_line(line: bytes) -> Signal | None:
    """Return the signal in a line of the signal file; None for a blank line. Raises SignalError, which quotes nothing of the line."""
    if not line.strip():
        return None
    members = _object(line)
    given, more = members.get("id"), members.get("additionalData")
    if not isinstance(given, str):
        raise SignalError('it has no "id"')
    return Signal(given, _type(members), _data(members), "file", more if isinstance(more, dict) else {})


def is_signal(line: bytes) -> bool:
    """Return whether a line has the form of a signal: a JSON object with strings for ``id`` and ``type``."""
    try:
        members = _object(line)
    except SignalError:
        return False
    return isinstance(members.get("id"), str) and isinstance(members.get("type"), str)


def is_whole(line: bytes) -> bool:
    """Return whether a line without a line end contains a complete JSON object."""
    try:
        _object(line)
    except SignalError:
        return False
    return True


def _type(members: Mapping[str, object]) -> str:
    kind = members.get("type")
    if not isinstance(kind, str):
        raise SignalError('it has no "type"')
    return kind


def _data(members: Mapping[str, object]) -> str | None:
    data = members.get("data")
    if data is None:
        return None
    if not isinstance(data, dict):
        raise SignalError('its "data" is not a JSON object')
    try:
        return json.dumps(data, ensure_ascii=False)
    except RecursionError as problem:
        raise SignalError('its "data" is nested too deep') from problem


def _object(text: bytes) -> Mapping[str, object]:
    try:
        members = read_document(text.decode().strip())
    except ValueError as problem:
        raise SignalError("it is not JSON") from problem
    if not isinstance(members, dict):
        raise SignalError("it is not a JSON object")
    try:
        # Python parses an unpaired surrogate, and it parses deeper nesting than it can write. Later steps could write neither.
        json.dumps(members, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:
        raise SignalError("it is nested too deep, or holds half of a surrogate pair") from problem
    return cast("dict[str, object]", members)
