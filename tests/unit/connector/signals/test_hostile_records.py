"""Malformed records of the signal topic: each is refused with one sentence, and the next one is executed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest

from connector.emulation import EMULATIONS, Emulation
from connector.runner.signaling.signal_channels import SignalChannels
from connector.signals.records import read_record
from connector.signals.signal import Signal, SignalError, read_signal
from tests.support.bad_records import MARK, NO_JSON, NO_OBJECT, OTHER_OBJECT, WRONG, deep_object
from tests.support.log_line import log_text

TYPES = ("execute-snapshot", "stop-snapshot", "pause-snapshot", "resume-snapshot", "log", "schema-changes", "mine", "snapshot-window-open")
DEEP = ("[" * 900 + "]" * 900, deep_object(900), "[" * 200 + "]" * 200)


def signal(data: str, kind: str = "log", identifier: str = '"s1"') -> bytes:
    return f'{{"id":{identifier},"type":"{kind}","data":{data}}}'.encode()


MEMBERS = ("type", "data-collections", "additional-conditions", "additional-condition", "surrogate-key", "message", "database", "changes")
RECORDS: list[bytes | None] = [
    None,
    *NO_JSON,
    *NO_OBJECT,
    *OTHER_OBJECT,
    *(json.dumps({"id": wrong, "type": wrong, "data": wrong}).encode() for wrong in WRONG),
    *(signal(deep, kind) for deep in DEEP for kind in TYPES),
    *(signal(f'{{"{member}":{deep}}}', kind) for member in MEMBERS for deep in DEEP for kind in TYPES),
    *(signal(json.dumps({member: wrong}), kind) for member in MEMBERS for wrong in WRONG for kind in TYPES),
    *(signal(f'{{"{member}":{"9" * digits}}}', kind) for member in MEMBERS for digits in (400, 4_000, 5_000) for kind in TYPES),
    *(signal('{"message":"x"}', identifier=identifier) for identifier in ('"\\ud800"', '"\\u0000"', "NaN", "1e400", '""')),
    signal('{"message":"\\udc00"}'),
    signal('{"message":NaN}'),
    signal('{"data-collections":["a\\u0000b"]}', "execute-snapshot"),
    signal('{"data-collections":["a"],"surrogate-key":"\\u0000"}', "execute-snapshot"),
    signal('{"data-collections":["a"],"additional-conditions":[{"data-collection":"a","filter":"\\u0000"}]}', "execute-snapshot"),
    signal('{"database":"d","changes":[{"id":"a.\\u0000"}]}', "schema-changes"),
]


@pytest.mark.parametrize("emulation", EMULATIONS, ids=lambda emulation: emulation.version)
def test_each_record_is_a_signal_or_refused_in_a_sentence(emulation: Emulation) -> None:
    refused: list[str] = []
    for value in RECORDS:
        try:
            read = read_record(b"shop", value, "shop", 7, lambda: "new")
            assert read is not None
            read.id.encode()
            read_signal(read, frozenset({"mine"}), emulation=emulation)
        except SignalError as refusal:
            refused.append(str(refusal))
    # Members of another type count as missing, as recorded, so that many of these signals can be read.
    assert 400 < len(refused) < len(RECORDS)
    assert all(0 < len(sentence.strip()) < 400 for sentence in refused)


@pytest.mark.parametrize("value", RECORDS[-4:])
def test_texts_that_postgres_cannot_store_are_refused(value: bytes) -> None:
    read = read_record(b"shop", value, "shop", 7, lambda: "new")
    assert read is not None
    with pytest.raises(SignalError, match="NUL character"):
        read_signal(read)


class Topic:
    """Gives one burst, then waits."""

    name = "signals"

    def __init__(self, values: list[bytes | None]) -> None:
        self._values = values

    async def records(self) -> AsyncGenerator[list[tuple[bytes | None, bytes | None, int]], None]:
        yield [(b"shop", value, offset) for offset, value in enumerate(self._values)]
        await asyncio.get_running_loop().create_future()


async def test_a_bad_record_takes_none_along_that_came_with_it(caplog: pytest.LogCaptureFixture) -> None:
    good = signal('{"message":"x"}')
    values = [good, *(value for value in RECORDS if value is None or len(value) < 100_000), good]
    arrived: list[Signal] = []
    channels: Any = SignalChannels.__new__(SignalChannels)
    channels._config = type("Config", (), {"topic_prefix": "shop"})()
    last = asyncio.Event()

    def put(found: Signal) -> None:
        arrived.append(found)
        if found.additional == {"channelOffset": len(values) - 1}:
            last.set()

    channels._put = put
    reading = asyncio.create_task(channels._read_topic(Topic(values)))
    await last.wait()
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    assert [found.data for found in (arrived[0], arrived[-1])] == ['{"message": "x"}'] * 2
    left_out = [record for record in caplog.records if "signal ignored" in record.getMessage()]
    assert len(left_out) + len(arrived) == len(values)
    assert MARK not in log_text(caplog.records)
