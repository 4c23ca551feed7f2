"""A sink without Kafka, for rehearsals."""

from __future__ import annotations

from connector.delivery.offsets import Position
from connector.record.batch import NO_HEADERS, Record
from connector.runner.sinks.function_sink import FunctionSink


async def test_records_are_kept_and_positions_reached() -> None:
    kept: list[tuple[str, Record]] = []
    sink = FunctionSink(lambda topic, record: kept.append((topic, record)))
    await sink.start()
    sink.frontier.begin(1)
    out = sink.out("t")
    out.append(b"k", b"<", b"1>", NO_HEADERS, 5)
    out.append(b"k", b"<", None, NO_HEADERS, 6)
    sink.send(Position(9, None))
    await sink.drained()
    assert kept == [("t", (b"k", b"<", b"1>", NO_HEADERS, 5)), ("t", (b"k", b"<", None, NO_HEADERS, 6))]
    assert sink.reached is not None
    assert (sink.idle, sink.delivered, sink.reached.position.event) == (True, 2, 9)
    await sink.prepare("u")
    # A transform may name a partition.
    sink.out("u").append_to(3, (None, b"", b"x", NO_HEADERS, 7))
    await sink.drained()
    assert kept[2] == ("u", (None, b"", b"x", NO_HEADERS, 7))
    await sink.stop()
