"""Signals as they come through the channels ``kafka`` and ``file``: JSON objects with ``id``, ``type`` and ``data``.

Pure. What is read and what is refused was recorded from the reference: in the topic a missing id, or one that is no text, becomes a new
one, in the file such a line is refused; what follows the object is passed over. Text for ``data`` is refused here, and no data is taken
for none: there both end the channel ``kafka`` until a restart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from connector.signal_document import read_document
from connector.signals import Signal, SignalError

NewId = Callable[[], str]


def read_record(key: bytes | None, value: bytes | None, connector_name: str, offset: int, new_id: NewId) -> Signal | None:
    """The signal in a record of the signal topic; None for one of another connector, whose ``topic.prefix`` the key is.

    Raises SignalError, without what the record holds.
    """
    if key != connector_name.encode():
        return None
    if value is None:
        raise SignalError("it has no value")
    members = _object(value)
    given = members.get("id")
    return Signal(given if isinstance(given, str) else new_id(), _type(members), _data(members), "kafka", {"channelOffset": offset})


def read_line(line: bytes) -> Signal | None:
    """The signal in a line of the signal file; None for a blank line. Raises SignalError, without what the line holds."""
    if not line.strip():
        return None
    members = _object(line)
    given, more = members.get("id"), members.get("additionalData")
    if not isinstance(given, str):
        raise SignalError('it has no "id"')
    return Signal(given, _type(members), _data(members), "file", more if isinstance(more, dict) else {})


def is_signal(line: bytes) -> bool:
    """Whether a line has the form of a signal: a JSON object with texts for ``id`` and ``type``."""
    try:
        members = _object(line)
    except SignalError:
        return False
    return isinstance(members.get("id"), str) and isinstance(members.get("type"), str)


def is_whole(line: bytes) -> bool:
    """Whether a line, which does not end yet, holds a whole JSON object."""
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
        raise SignalError('its "data" is no JSON object')
    try:
        return json.dumps(data, ensure_ascii=False)
    except RecursionError as problem:
        raise SignalError('its "data" is nested too deep') from problem


def _object(text: bytes) -> Mapping[str, object]:
    try:
        members = read_document(text.decode().strip())
    except ValueError as problem:
        raise SignalError("it is no JSON") from problem
    if not isinstance(members, dict):
        raise SignalError("it is no JSON object")
    try:
        # Python reads half of a surrogate pair, and deeper than it writes; nothing that follows could write either.
        json.dumps(members, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:
        raise SignalError("it is nested too deep, or holds half of a surrogate pair") from problem
    return cast("dict[str, object]", members)
