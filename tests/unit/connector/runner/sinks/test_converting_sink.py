"""Records and positions keep their order while some wait for the schema registry, or for the partitions of their topic."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from connector.converters.converter import Converted, ConverterChoice, SchemaNeededError, SchemaRequest
from connector.delivery.offsets import Position
from connector.delivery.record_conversion import INTERNAL, ConversionPlan, RecordConversion, RecordFailed, ignore_failure
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sink import KafkaSink
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.json_converter import around_payload, value_json
from connector.record.schema import INT64, STRING, Field, Schema
from connector.runner.sinks.converting_sink import ConvertingSink
from connector.transforms.chain import Chain, Step

ROW = Schema("struct", name="t.Value", fields=(Field("id", INT64),))
KEY = Schema("struct", name="t.Key", fields=(Field("id", INT64),))
JSON = "org.apache.kafka.connect.json.JsonConverter"
HEADERS = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
PLAN = ConversionPlan({}, ConverterChoice(JSON), ConverterChoice(JSON), ConverterChoice(HEADERS))


class Out:
    def __init__(self, log: list[Any], topic: str) -> None:
        self._log = log
        self._topic = topic
        self.partitions: list[int] = []

    def append(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:
        self._log.append((self._topic, None, payload))

    def append_to(self, partition: int, record: tuple[Any, ...]) -> None:
        self._log.append((self._topic, partition, record[2]))


class Inner:
    """Stands for the KafkaSink."""

    stores_offsets = False
    frontier = reached = None
    idle = True

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.outs: dict[str, Out] = {}

    def out(self, topic: str, *, apart: bool = False) -> Out:
        return self.outs.setdefault(topic, Out(self.log, topic))

    def pump(self) -> None:
        pass

    def send(self, position: object) -> None:
        self.log.append(position)

    async def prepare(self, topic: str) -> None:
        self.out(topic).partitions = [0, 1, 2]

    async def drained(self) -> None:
        pass

    async def room(self) -> None:
        pass


class Registry:
    """Knows no schema at first. ``answers`` is set when it may answer."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.answers = asyncio.Event()
        self.failure: CdcError | None = None
        self.asked: list[str] = []

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Any:
        if topic not in self.known:
            raise SchemaNeededError(self, SchemaRequest(topic, None))
        return Text().convert(topic, schema, value, headers)

    async def resolve(self, _registry: object, request: SchemaRequest) -> None:
        self.asked.append(request.subject)
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure
        self.known.add(request.subject)


class Text:
    """Writes the id."""

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:
        return Converted(str(value["id"]).encode())


class Rename:
    """A transform: sends odd ids to another topic, and those above 100 to a partition of their own; drops 13 and refuses 666."""

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        number = record.value["id"]
        if number == 666:
            raise DataError("666 is refused")
        if number == 13:
            return None
        found = replace(record, topic="odd") if number % 2 else record
        return replace(found, partition=number % 3) if number > 100 else found


def rig(value: object, plan: ConversionPlan = PLAN, failed: RecordFailed = ignore_failure) -> tuple[ConvertingSink, Inner, list[str]]:
    warned: list[str] = []

    def warn(event: str, /, **_: object) -> None:
        warned.append(event)

    conversion = RecordConversion(plan, warn, failed=failed)
    conversion.chain = Chain([Step("rename", "Rename", Rename())])
    inner = Inner()
    conversion._value = cast("Any", value)
    resolve = value.resolve if isinstance(value, Registry) else Registry().resolve
    return ConvertingSink(cast("KafkaSink", inner), conversion, resolve), inner, warned


def send(sink: ConvertingSink, *numbers: int) -> None:
    key_before, key_after = around_payload(KEY, INTERNAL)
    before, after = around_payload(ROW, INTERNAL)
    keys = [key_before + value_json(KEY, {"id": number}, INTERNAL) + key_after for number in numbers]
    sink.out("t").extend(keys, before, [value_json(ROW, {"id": number}, INTERNAL) + after for number in numbers], b"\0", 5)


async def test_records_pass_at_once_when_nothing_must_be_asked() -> None:
    sink, inner, _ = rig(Text())
    send(sink, 2, 3, 13, 4)
    here = Position(9, None)
    sink.send(here)
    assert inner.log == [("t", None, b"2"), ("odd", None, b"3"), ("t", None, b"4"), here]
    assert sink.idle


async def test_everything_after_a_record_that_waits_waits_too() -> None:
    registry = Registry()
    registry.known.add("t")
    sink, inner, _ = rig(registry)
    first, second = Position(1, None), Position(2, None)
    send(sink, 2)
    sink.send(first)
    send(sink, 3, 4)
    sink.send(second)
    assert inner.log == [("t", None, b"2"), first]
    assert not sink.idle
    registry.answers.set()
    await sink.drained()
    assert inner.log == [("t", None, b"2"), first, ("odd", None, b"3"), ("t", None, b"4"), second]
    assert registry.asked == ["odd"]
    assert sink.idle


@pytest.mark.parametrize("waits_already", [False, True])
async def test_a_record_that_comes_when_the_queue_has_just_been_emptied_does_not_wait_for_ever(*, waits_already: bool) -> None:
    registry = Registry()
    registry.known.add("t")
    sink, inner, _ = rig(registry)
    send(sink, 3)
    sink.pump()
    draining = asyncio.create_task(sink.drained()) if waits_already else None
    await asyncio.sleep(0)
    registry.answers.set()
    for _ in range(10):
        # Not one turn later: then the task that emptied the queue is gone.
        if sink.waits:
            await asyncio.sleep(0)
    registry.known.discard("t")
    send(sink, 2)
    async with asyncio.timeout(10):
        await (draining or sink.drained())
        await sink.drained()
    assert inner.log == [("odd", None, b"3"), ("t", None, b"2")]


async def test_large_records_that_wait_end_the_room() -> None:
    registry = Registry()
    sink, inner, _ = rig(registry)
    large = Schema("struct", name="t.Value", fields=(Field("id", INT64), Field("doc", STRING)))
    before, after = around_payload(large, INTERNAL)
    doc = "x" * 1_000_000
    sent = 0
    waiting: asyncio.Task[None] | None = None
    while waiting is None or waiting.done():
        assert sent < 20, "the queue has no limit of bytes"
        payload = value_json(large, {"id": 2, "doc": doc}, INTERNAL) + after
        sink.out("t").append(None, before, payload, b"\0", 5)
        sent += 1
        sink.pump()
        waiting = asyncio.create_task(sink.room())
        await asyncio.sleep(0)
    assert sent == 8
    registry.answers.set()
    await waiting
    await sink.drained()
    assert len(inner.log) == sent
    await sink.room()


async def test_a_record_with_a_partition_waits_for_its_topic() -> None:
    sink, inner, _ = rig(Text())
    send(sink, 104, 2)
    await sink.drained()
    assert inner.log == [("t", 2, b"104"), ("t", None, b"2")]
    send(sink, 106)
    assert inner.log[-1] == ("t", 1, b"106")


async def test_a_registry_that_refuses_fails_the_sink() -> None:
    registry = Registry()
    registry.failure = CdcError(ErrorKind.SINK_REFUSED, "No such subject")
    registry.answers.set()
    sink, inner, _ = rig(registry)
    send(sink, 2)
    with pytest.raises(CdcError, match="No such subject"):
        await sink.drained()
    with pytest.raises(CdcError, match="No such subject"):
        sink.pump()
    assert inner.log == []
    await sink.stop()


async def test_stop_abandons_what_waits() -> None:
    sink, inner, _ = rig(Registry())
    send(sink, 2)
    sink.pump()
    await sink.stop()
    assert inner.log == []


async def test_a_failing_transform_names_itself_and_no_value() -> None:
    sink, inner, _ = rig(Text())
    with pytest.raises(CdcError) as caught:
        send(sink, 2, 666)
    assert caught.value.kind is ErrorKind.TRANSFORM
    assert caught.value.message == "Transform rename (Rename) failed on a record of topic t (key fields: id): 666 is refused"
    assert inner.log == [("t", None, b"2")]


async def test_failing_records_are_left_out_where_they_are_tolerated() -> None:
    sink, inner, warned = rig(Text(), replace(PLAN, config={"errors.tolerance": "all"}))
    send(sink, 2, 666, 4)
    assert inner.log == [("t", None, b"2"), ("t", None, b"4")]
    assert warned == ["record left out"]


@pytest.mark.parametrize(
    ("config", "counted"),
    [
        ({"errors.tolerance": "all"}, {"left_out": True, "logged": True}),
        ({"errors.log.enable": "true"}, {"left_out": False, "logged": True}),
        ({}, {"left_out": False, "logged": False}),
    ],
)
async def test_failing_records_are_counted(config: dict[str, str], counted: dict[str, bool]) -> None:
    found: list[dict[str, bool]] = []
    sink, _, _ = rig(Text(), replace(PLAN, config=config), lambda **facts: found.append(facts))
    with contextlib.suppress(CdcError):
        send(sink, 2, 666, 4)
    assert found == [counted]


async def test_a_schema_that_the_registry_refuses_fails_its_record_only_where_that_is_tolerated() -> None:
    refused = CdcError(ErrorKind.SCHEMA, "The registry refuses the schema", "Change it")
    for plan, left_out in ((replace(PLAN, config={"errors.tolerance": "all"}), True), (PLAN, False)):
        registry, found = Registry(), list[dict[str, bool]]()
        registry.failure = refused
        registry.answers.set()
        registry.known.add("odd")
        sink, inner, _ = rig(registry, plan, lambda **facts: found.append(facts))  # noqa: B023 - called before the next turn
        send(sink, 2, 3)
        if left_out:
            await sink.drained()
            assert inner.log == [("odd", None, b"3")]
        else:
            with pytest.raises(CdcError, match="The registry refuses the schema"):
                await sink.drained()
            assert inner.log == []
        assert found == [{"left_out": left_out, "logged": left_out}]


async def test_tombstones_and_headers_pass() -> None:
    conversion = RecordConversion(PLAN, lambda _event, /, **_fields: None)
    inner = Inner()
    sink = ConvertingSink(cast("KafkaSink", inner), conversion, Registry().resolve)
    sink.out("t").append(None, b"", None, b"\0", 1)
    assert inner.log == [("t", None, None)]
    written = conversion.convert(ConnectRecord("t", None, None, STRING, "x", headers=(Header("h", STRING, "é"),)))
    assert written is not None
    assert written.headers == b"\x02\x02h\x04" + "é".encode()
