"""Records that anybody with the right to write to Kafka may put into an internal topic: for each topic more than 45 of them.

Where it can, a record holds :data:`MARK`, which no line of a log may repeat. They are aimed at the connector ``connector``, which runs and
must not notice, and at connectors that are not there.
"""

from __future__ import annotations

import json
from typing import Any

MARK = "c9f1-never-in-a-log"
DEEP = 300
"""Deeper than orjson writes, and not deeper than it reads."""

Record = tuple[bytes, bytes | None]
"""Key and value."""


def _deep(depth: int) -> str:
    return "[" * depth + "]" * depth


def deep_object(depth: int) -> str:
    """Objects within objects."""
    return '{"a":' * depth + f'"{MARK}"' + "}" * depth


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


NO_JSON: tuple[bytes, ...] = (
    b"",
    b'{"properties":{"a":"\xff\xfe' + MARK.encode() + b'"}}',
    bytes(range(256)),
    _json({"properties": {"a": MARK}}).decode().encode("utf-16"),
    b"\xef\xbb\xbf{}",
    f"no json {MARK}".encode(),
    f'{{"properties":{{"a":"{MARK}'.encode(),
    b"{} {}",
    b'{"properties":{"a":NaN},"state":NaN,"tasks":NaN,"lsn":NaN}',
    b"Infinity",
    b'{"properties":{"a":"\\ud800"},"state":"\\udc00","lsn":"\\ud800"}',
    b"{'properties':{}}",
    b'{"properties":{"a":"1"}} // ' + MARK.encode(),
    b'{"properties":{"a":"\x01"}}',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    _deep(5_000).encode(),
    deep_object(5_000).encode(),
)
NO_OBJECT: tuple[bytes, ...] = (
    b"true",
    b"7",
    b"9" * 5_000,
    b"1e300",
    _json(MARK),
    b"[]",
    _json([{"properties": {"a": MARK}}]),
    _deep(DEEP).encode(),
    _json(MARK * 25_000),
)
OTHER_OBJECT: tuple[bytes, ...] = (
    b"{}",
    _json({"schema": {"type": "struct"}, "payload": {"properties": {"a": MARK}, "state": "STARTED"}}),
    _json({"Properties": {"a": MARK}, "STATE": MARK, "Tasks": 1}),
    _json({"a": MARK * 25_000}),
    deep_object(DEEP).encode(),
)
"""Objects without the members that the config and status topics need."""
WRONG: tuple[Any, ...] = (None, [], [MARK], {"a": {"b": MARK}}, {"a": [MARK]}, MARK, 1.5, True)
"""What no member may be, but for the objects."""
ABSENT: tuple[Any, ...] = (None, 1.5, [MARK], {})
"""What neither a text nor a whole number is."""
NAMES = ("", "-", "-x", "-1.0", "-²", "-" + "9" * 5_000)
"""Ends of keys that do not name a task."""


def refused_config(connector: str) -> list[Record]:
    """Records of the config topic of which each is named in the log, and changes nothing."""
    records: list[Record] = [
        (f"{kind}{connector}{end}".encode(), value)
        for kind, end in (("connector-", ""), ("target-state-", ""), ("commit-", ""), ("task-", "-0"), ("logger-cluster-", ""))
        for value in (*NO_JSON, *NO_OBJECT, *OTHER_OBJECT)
    ]
    records += [(f"restart-connector-{connector}".encode(), value) for value in (*NO_JSON, *NO_OBJECT)]
    for wrong in WRONG:
        records.append((f"connector-{connector}".encode(), _json({"properties": wrong})))
        records.append((f"task-{connector}-0".encode(), _json({"properties": wrong})))
        records.append((f"commit-{connector}".encode(), _json({"tasks": wrong})))
        records.append((f"logger-cluster-{connector}".encode(), _json({"level": None if wrong == MARK else wrong})))
        records.append((f"target-state-{connector}".encode(), _json({"state": wrong})))
        records.append((f"target-state-{connector}".encode(), _json({"state": "STARTED", "state.v2": wrong})))
    for nested in (_deep(DEEP), deep_object(DEEP)):
        records.append((f"connector-{connector}".encode(), f'{{"properties":{{"a":{nested}}}}}'.encode()))
    records.append((f"connector-{connector}".encode(), b'{"properties":{"name":"a"},"properties":7}'))
    records += [(f"task-{connector}{end}".encode(), _json({"properties": {}})) for end in NAMES]
    unknown = ("", "\0", MARK, "connectors", "connector-", "target-state-", "commit-", "task-", "task--0", "restart-connector-")
    records += [(key.encode(), _json({"properties": {}, "tasks": 1, "state": "STARTED"})) for key in unknown]
    records += [(b"\xff\xfe", b"{}"), (b"connector-\xff", b"{}"), (b"connector-" + b"x" * 40_000, _json({"properties": {}}))]
    return records


def odd_config(connector: str) -> list[Record]:
    """Records of the config topic that can be read, but make no sense."""
    return [
        *((key.encode(), None) for key in ("connector-never", "target-state-never", "commit-never", "task-never-0", "task-never-7")),
        *((key.encode(), None) for key in ("restart-connector-never", "logger-cluster-never", "session-key", "tasks-fencing-never")),
        (b"commit-never", _json({"tasks": 3})),
        (b"commit-never", b"null"),
        (f"commit-{connector}".encode(), _json({"tasks": 10**18})),
        (f"commit-{connector}".encode(), _json({"tasks": -1})),
        (f"commit-{connector}".encode(), _json({"tasks": 5})),
        (f"task-{connector}-3".encode(), _json({"properties": {"a": MARK}})),
        (f"task-{connector}-000000001".encode(), _json({"properties": {}})),
        (b"task-never-0", _json({"properties": {}})),
        (b"target-state-never", _json({"state": "STARTED", "more": MARK})),
        (f"target-state-{connector}".encode(), _json({"state": "PAUSED", "state.v2": "STARTED"})),
        (b"restart-connector-never", _json({"include-tasks": True, "only-failed": False})),
        (f"restart-connector-{connector}".encode(), _json({"include-tasks": MARK, "only-failed": 7})),
        (b"logger-cluster-never", _json({"level": "loud"})),
        (b"session-key", b"\xff"),
        (b"tasks-fencing-never", b"\xff"),
        (b"connector-bad empty", _json({"properties": {}})),
        (b"connector-bad class", _json({"properties": {"name": "bad class", "connector.class": MARK}})),
        (b"connector-bad\n\x1b[31m\0\xe2\x80\xa8", _json({"properties": {"a": None, "b": 1, "c": False, "d": 1.5, "e": 2**64 - 1}})),
        (b"connector-" + b"y" * 20_000, _json({"properties": {"name": "y"}})),
    ]


def refused_status(connector: str) -> list[Record]:
    """Records of the status topic of which each is named in the log, and changes nothing."""
    good: dict[str, Any] = {"state": "PAUSED", "trace": None, "worker_id": "elsewhere:8083", "generation": 1}
    records: list[Record] = []
    for key in (f"status-connector-{connector}", f"status-task-{connector}-0"):
        records += [(key.encode(), value) for value in (*NO_JSON, *NO_OBJECT, *OTHER_OBJECT)]
        records += [(key.encode(), _json({**good, name: wrong})) for name in ("state", "worker_id", "generation") for wrong in ABSENT]
        records += [(key.encode(), _json({**good, name: wrong})) for name in ("trace", "version") for wrong in ABSENT[1:]]
        records += [(key.encode(), _json({**good, "state": word})) for word in (MARK, "running", "", "DESTROYED")]
        records += [
            (key.encode(), _json({key: value for key, value in good.items() if key != name}))
            for name in ("state", "worker_id", "generation")
        ]
        records.append((key.encode(), json.dumps({**good, "generation": 7}).replace("7", "9" * 400).encode()))
    topic = f"status-topic-t:connector-{connector}".encode()
    records += [(topic, value) for value in (*NO_JSON, *NO_OBJECT)]
    records += [(f"status-task-{connector}{end}".encode(), _json(good)) for end in NAMES]
    unknown = (
        "",
        "\0",
        MARK,
        "status-connector-",
        "status-task-",
        "status-task--0",
        "status-topic-t",
        "status-topic-t:connector-",
        "connector-x",
    )
    records += [(key.encode(), _json(good)) for key in unknown]
    records += [(b"\xff\xfe", b"{}"), (b"status-connector-\xff", b"{}"), (b"status-connector-" + b"x" * 40_000, _json(good))]
    return records


def odd_status(_connector: str) -> list[Record]:
    """Records of the status topic that can be read, but make no sense."""
    good: dict[str, Any] = {"state": "RUNNING", "trace": None, "worker_id": "elsewhere:8083", "generation": 1}
    return [
        *((key.encode(), None) for key in ("status-connector-never", "status-task-never-0", "status-topic-t:connector-never")),
        (b"status-connector-never", _json({**good, "trace": MARK * 25_000})),
        (b"status-connector-never", _json({**good, "generation": 2**64 - 1})),
        (b"status-connector-never", _json({**good, "generation": -1, "worker_id": ""})),
        (b"status-task-never-999999999", _json({**good, "state": "FAILED"})),
        (b"status-topic-:connector-never", _json({"topic": {}})),
        (b"status-topic-t:connector-a:connector-never", _json({"topic": MARK})),
    ]


def refused_offsets(connector: str, server: str) -> list[Record]:
    """Records of the offset topic of which each is named in the log, and changes nothing; ``server`` is the connector's prefix."""
    own = json.dumps([connector, {"server": server}], separators=(",", ":")).encode()
    records: list[Record] = [(own, value) for value in (*NO_JSON, *NO_OBJECT, deep_object(DEEP).encode())]
    records += [(own, f'{{"lsn":{value}}}'.encode()) for value in (_deep(DEEP), "9" * 400)]
    records.append((f'["{connector}",{{"server":{"9" * 400}}}]'.encode(), b"{}"))
    # The keys: whatever is no JSON, and lists of the wrong kind.
    records += [(key, _json({"lsn": 1})) for key in (*NO_JSON, *NO_OBJECT, *OTHER_OBJECT) if len(key) < 40_000]
    pairs: tuple[object, ...] = (
        [],
        [connector],
        [connector, {}, {}],
        [connector, [MARK]],
        [connector, MARK],
        [connector, 7],
        [7, {}],
        [None, {}],
        [{}, {}],
        [[], {"server": server}],
        ["", {"server": server}],
        {"a": 1, "b": {}},
        {connector: {}, "b": {}},
    )
    records += [(_json(pair), _json({"lsn": 1})) for pair in pairs]
    for nested in (_deep(DEEP), deep_object(DEEP), deep_object(900)):
        records.append((f'["{connector}",{{"server":{nested}}}]'.encode(), _json({"lsn": 1})))
        # A removal of what was never there.
        records.append((f'["{connector}",{{"server":{nested}}}]'.encode(), None))
    return records


def odd_offsets(connector: str, server: str) -> list[Record]:
    """Records of the offset topic that can be read, but make no sense; none is the connector's own offset."""
    return [
        (_json([connector, None]), _json({"lsn": MARK})),
        (_json([connector, None]), None),
        (_json([connector, {}]), _json({"lsn": 2**64 - 1})),
        (_json([connector, {"server": MARK}]), None),
        (_json([connector, {"server": [server]}]), _json({"lsn": None})),
        (_json([connector, {"server": {"server": server}}]), deep_object(100).encode()),
        (f'["{connector}",{{"server":"{MARK}","server":"{server}-other"}}]'.encode(), b'{"lsn":1,"lsn":2}'),
        (f'["{connector}",{{"server":{"9" * 30}}}]'.encode(), f'{{"lsn":{"9" * 30}}}'.encode()),
        (_json(["never", {"server": "never"}]), _json({"lsn": 1})),
        (_json(["never", {"server": "never"}]), None),
        (_json(["never", {"server": "never"}]), None),
    ]
