from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from connector.catalog.selection import Selection
from connector.errors import CdcError
from connector.events.capture import Capture
from connector.events.envelope import SourceFacts, TableSource
from connector.record.json_converter import ConverterSettings
from connector.runner.snapshot.messages import EdgeRow, Opened, Order, PartRead, PartReport
from connector.runner.snapshot.part_reader import PartReader
from connector.runner.snapshot.reading import RowSender
from connector.runner.snapshot.rows import FailureModes, RowWriter, TableWork
from connector.snapshot.parts import Handout, Part
from connector.snapshot.plan import Extent
from connector.types.codec import Column
from tests.support.each_case import each_case
from tests.support.stream_rig import INT4, NOW_NS, TYPES, RecordingOut, Sent, catalog_table, configured
from tests.support.warned import Warned

NUMERIC_10_2 = 655366
TABLE = catalog_table("t", Column("id", INT4, not_null=True), Column("n", 1700, NUMERIC_10_2, not_null=True), primary_key=["id"])


FACTS = SourceFacts(0, None, None)


def work_of(records: list[Sent]) -> TableWork:
    plain = ConverterSettings(schemas_enable=False)
    encoder = Capture(Selection.of(configured()), TYPES, plain, plain, Warned()).encoder(TABLE)
    source = TableSource.of(server="s", database="d", schema="public", table="t")
    return TableWork(encoder, source, RecordingOut("s.public.t", records))


def written(failures: FailureModes, *rows: tuple[bytes, bytes]) -> list[Sent]:
    records: list[Sent] = []
    RowWriter(1, FACTS, b"\0", failures).send_rows(work_of(records), rows, False, "true", NOW_NS)
    return records


def burst(rows: str, begin: int = 0) -> list[bytes]:
    """Lines of COPY: no event can be made of a row that is ``x``."""
    return [b"%d\t%b\n" % (begin + number, b"NaN" if row == "x" else b"1.00") for number, row in enumerate(rows)]


@pytest.mark.parametrize("converting", ["warn", "skip", "fail"])
def test_a_row_without_a_value_that_it_needs_fails_or_is_left_out(converting: str) -> None:
    rows = ((b"1", b"1.00"), (b"2", b"NaN"), (b"3", b"1.00"))
    with pytest.raises(CdcError, match=r"olumn n of table public\.t"):
        written(FailureModes(converting), *rows)
    for processing in ("warn", "skip", "ignore"):
        records = written(FailureModes(converting, processing), *rows)
        assert [(sent.key_json["id"], sent.payload["after"]["id"]) for sent in records] == [(1, 1), (3, 3)]
        assert written(FailureModes(converting, processing), rows[1]) == []


def marked(records: list[Sent]) -> list[tuple[int, str]]:
    return [(sent.payload["after"]["id"], sent.payload["source"]["snapshot"]) for sent in records]


@each_case(
    ("tables", "expected"),
    [
        ([["..."]], [(0, "first"), (1, "true"), (2, "last")]),
        ([["..x"]], [(0, "first"), (1, "last")]),
        ([["..", "x", "xx"]], [(0, "first"), (1, "last")]),
        ([["x", "x.x.", "x"]], [(2, "true"), (4, "last")]),
        ([["x"], [".."]], [(0, "first_in_data_collection"), (1, "last")]),
        ([["..x"], ["."]], [(0, "first"), (1, "true"), (0, "last")]),
        ([[".."], ["xx"]], [(0, "first"), (1, "last")]),
        ([["x.x"]], [(1, "last")]),
        ([["x"], ["xx"]], []),
        ([["x..x"], [".."], ["x", "x"]], [(1, "true"), (2, "true"), (0, "first_in_data_collection"), (1, "last")]),
        ([[".", "x"], ["."]], [(0, "first"), (0, "last")]),
    ],
)
def test_a_marker_is_lost_with_a_row_that_is_left_out_but_for_the_last(tables: list[list[str]], expected: list[tuple[int, str]]) -> None:
    records: list[Sent] = []
    sender = RowSender(RowWriter(1, FACTS, b"\0", FailureModes("warn", "skip")))
    for bursts in tables:
        work, read = work_of(records), 0
        for rows in bursts:
            sender.rows(work, burst(rows, read), first_of_table=read == 0)
            read += len(rows)
        sender.table_ends()
    sender.finish()
    assert marked(records) == expected
    assert sender.sent == sum(len(rows) for bursts in tables for rows in bursts)


def test_each_row_that_is_left_out_has_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    sender = RowSender(RowWriter(1, FACTS, b"\0", FailureModes("warn", "warn")))
    with caplog.at_level(logging.WARNING):
        sender.rows(work_of([]), burst("x.x.x"), first_of_table=True)
        sender.finish()
    assert len([record for record in caplog.records if "left out" in record.getMessage()]) == 3


class OnePart:
    """One part that a reader process reads, and what it reports."""

    def __init__(self, *bursts: str) -> None:
        self.bursts = bursts
        self.reported: list[PartReport] = []
        self.records: list[Sent] = []
        job = cast(Any, SimpleNamespace(lsn=1, facts=FACTS, headers=b"\0"))
        config = configured(**{"event.processing.failure.handling.mode": "skip"})
        source, sink = SimpleNamespace(), SimpleNamespace()
        reader = SimpleNamespace(open=lambda _table: work_of(self.records), bursts=self._read)
        self.reader = PartReader(job, config, cast(Any, reader), cast(Any, sink), cast(Any, source), self._take)

    async def _read(self, *_: object) -> AsyncIterator[list[bytes]]:
        begin = 0
        for rows in self.bursts:
            yield burst(rows, begin)
            begin += len(rows)

    def _take(self, report: PartReport) -> None:
        self.reported.append(report)
        if isinstance(report, Opened):
            self.reader.go.set()

    async def read(self, *, ask: bool) -> tuple[int, int | None]:
        """Return how many rows were reported, and which one is the last."""
        await self.reader.read(Order(Handout(Part(0, 0, 1, Extent()), ask), TABLE))
        done = self.reported[-1]
        assert isinstance(done, PartRead)
        return done.rows + (done.last is not None) + (len(self.reported) == 2), None if done.last is None else number_of(done.last)


def number_of(edge: EdgeRow) -> int:
    [number] = {json.loads(prefix + (payload or b""))["after"]["id"] for _, prefix, payload, _, _ in edge.records.values()}
    return int(number)


@pytest.mark.parametrize(
    ("bursts", "opened", "last"),
    [
        (["...."], 0, 3),
        (["...x"], 0, 2),
        (["x..", "xx"], 1, 2),
        (["x.", "x", ".x"], 1, 3),
        (["x.x", "x"], None, 1),
        (["x", "xx"], None, None),
    ],
)
async def test_the_rows_at_the_edges_of_a_part_are_those_with_events(bursts: list[str], opened: int | None, last: int | None) -> None:
    count = sum(map(len, bursts))
    part = OnePart(*bursts)
    assert await part.read(ask=True) == (count, last)
    assert [number_of(report.first) for report in part.reported if isinstance(report, Opened)] == ([] if opened is None else [opened])
    part = OnePart(*bursts)
    assert await part.read(ask=False) == (count, last)
    assert [word for _, word in marked(part.records)] == (["first_in_data_collection", "true", "true"] if opened is not None else [])[
        : len(part.records)
    ]
    edge = await part.reader.edge(Order(Handout(Part(0, 0, 1, Extent()), ask=False), TABLE))
    assert (None if edge is None else number_of(edge)) == last
