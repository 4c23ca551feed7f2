"""One run's incremental snapshots, whatever fails and whatever is asked for, at every step: no row is lost, none is sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from connector.catalog.visibility import Visibility
from connector.errors import CdcError, ErrorKind
from connector.incremental import coordinator
from connector.incremental.chunk_reader import TableChangedError
from connector.incremental.state import Collection
from connector.runner import incremental
from tests.support.chunk_tables import TABLES
from tests.support.incremental_rig import IncrementalRig
from tests.support.stream_rig import relation_of
from tests.support.wal_script import WalScript

MARKING = ["write_opening", "write_closing"]
READING = ["look_at", "last_row", "rows"]
STEPS = [*MARKING, *READING]
LOST = CdcError(ErrorKind.SOURCE_CONNECTION_LOST, "The connection was lost")
REFUSED = CdcError(ErrorKind.SOURCE_QUERY, "The server refused")
INTERRUPTED = CdcError(ErrorKind.SOURCE_INTERRUPTED, "The read conflicts with recovery")
each_step = pytest.mark.parametrize("step", STEPS)
ALL_A, ALL_B = [1, 2, 3], [1, 2]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause before a snapshot's first chunk, nor before a chunk that is read again."""
    monkeypatch.setattr(coordinator, "BEGIN_S", 0.0)
    monkeypatch.setattr(coordinator, "AGAIN_S", 0.0)


@pytest.mark.parametrize("read_only", [False, True])
async def test_every_row_is_sent_once(read_only: bool) -> None:
    rig = IncrementalRig(read_only=read_only)
    async with rig.running():
        rig.ask("a", "b")
        await rig.end()
    assert (rig.keys("a"), rig.keys("b")) == (ALL_A, ALL_B)
    assert (rig.run.state.running, rig.run.stored(), rig.context.progress.incremental) == (False, {}, None)
    assert rig.reported == [
        "STARTED",
        *["IN_PROGRESS"] * 2,
        "TABLE_SCAN_COMPLETED public.a SUCCEEDED",
        "IN_PROGRESS",
        "TABLE_SCAN_COMPLETED public.b SUCCEEDED",
        "COMPLETED",
    ]
    assert rig.reader.ended


def counted(rig: IncrementalRig) -> tuple[str, set[str], set[str]]:
    meter = rig.context.meters.snapshot
    return meter.state, meter.tables, meter.remaining


async def test_the_state_of_the_snapshot_is_counted_as_in_debezium() -> None:
    rig, both = IncrementalRig(), {"public.a", "public.b"}
    rig.context.meters.snapshot.skipped = True
    rig.reader.held = {"rows"}
    async with rig.running():
        rig.ask("a", "b")
        assert counted(rig) == ("running", both, both)
        assert rig.context.meters.snapshot.skipped is False
        await rig.reader.reached("rows")
        rig.run.pause()
        rig.reader.release("rows")
        await rig.windows.get()
        assert counted(rig) == ("paused", both, both)
        rig.run.resume_reading()
        assert counted(rig) == ("running", both, both)
        await rig.end()
    assert counted(rig) == ("completed", both, set())
    assert rig.context.meters.stream.last_event_ms == rig.context.meters.snapshot.last_event_ms


async def test_a_table_without_rows_stays_among_the_remaining_ones_as_in_debezium() -> None:
    rig = IncrementalRig({"a": {}, "b": {1: "x"}})
    async with rig.running():
        rig.ask("a", "b")
        await rig.end()
    assert counted(rig) == ("completed", {"public.a", "public.b"}, {"public.a"})


async def test_a_snapshot_that_a_restart_continues_runs() -> None:
    first = IncrementalRig()
    first.ask("a")
    again = IncrementalRig(offset=first.run.stored())
    assert counted(again) == ("running", set(), set())


async def test_a_row_that_the_stream_brings_meanwhile_is_left_out() -> None:
    rig, wal = IncrementalRig(), WalScript()
    rig.reader.held = {"write_closing"}
    async with rig.running():
        rig.ask("a")
        await rig.reader.reached("write_closing")
        wal.begin()
        wal.relation(relation_of(TABLES["a"]))
        wal.update(relation_of(TABLES["a"]), "2", "new")
        wal.commit()
        [changed] = rig.stream_rig.feed(wal.take())
        rig.reader.release("write_closing")
        await rig.end()
    assert changed.payload["after"] == {"id": 2, "v": "new"}
    assert rig.keys("a") == [1, 3]


@pytest.mark.parametrize(("step", "error"), [*((step, LOST) for step in STEPS), *((step, INTERRUPTED) for step in MARKING)])
async def test_after_a_failure_that_ends_the_task_the_offset_continues_at_the_first_unsent_row(step: str, error: CdcError) -> None:
    for nth in range(3):
        rig = IncrementalRig()
        rig.reader.failures = {step: [*[None] * nth, error]}
        async with rig.running():
            rig.ask("a", "b")
            if step in ("look_at", "last_row") and nth == 2:
                # Each is done once a table.
                await rig.end()
                continue
            assert await rig.failure() is error
        assert rig.reader.ended
        again = IncrementalRig(offset=rig.run.stored())
        async with again.running():
            await again.end()
        assert rig.keys("a") + again.keys("a") == ALL_A
        assert rig.keys("b") + again.keys("b") == ALL_B


@pytest.mark.parametrize("lost", [False, True])
async def test_tied_rows_of_several_chunks_are_all_read_again_after_a_failure(lost: bool) -> None:
    rig = IncrementalRig()
    rig.reader.divided = [True]
    if lost:
        rig.reader.failures = {"rows": [None, LOST]}
    async with rig.running():
        rig.ask("a")
        if not lost:
            await rig.end()
            assert rig.keys("a") == ALL_A
            return
        assert await rig.failure() is LOST
    assert rig.keys("a") == [1, 2]
    again = IncrementalRig(offset=rig.run.stored())
    async with again.running():
        await again.end()
    assert again.keys("a") == ALL_A


@each_step
async def test_a_cancelled_task_continues_where_it_was(step: str) -> None:
    rig = IncrementalRig()
    rig.reader.held = {step}
    async with rig.running():
        rig.ask("a", "b")
        await rig.reader.reached(step)
    assert rig.reader.ended
    again = IncrementalRig(offset=rig.run.stored())
    async with again.running():
        await again.end()
    assert rig.keys("a") + again.keys("a") == ALL_A
    assert rig.keys("b") + again.keys("b") == ALL_B


@pytest.mark.parametrize("step", READING)
@pytest.mark.parametrize("error", [REFUSED, INTERRUPTED, KeyError("k"), ValueError("x")])
async def test_a_table_that_cannot_be_read_is_left_out_and_the_next_one_is_read(step: str, error: Exception) -> None:
    rig = IncrementalRig()
    rig.reader.failures = {step: [error]}
    async with rig.running():
        rig.ask("a", "b")
        await rig.end()
    assert (rig.keys("a"), rig.keys("b")) == ([], ALL_B)
    assert "TABLE_SCAN_COMPLETED public.a SQL_EXCEPTION" in rig.reported
    assert rig.reported[-1] == "COMPLETED"


@pytest.mark.parametrize(("step", "read_only"), [("write_opening", False), ("write_closing", False), ("connect", True), ("position", True)])
async def test_a_watermark_that_is_refused_ends_the_snapshot_and_not_the_next_one(step: str, read_only: bool) -> None:
    rig = IncrementalRig(read_only=read_only)
    rig.reader.failures = {step: [REFUSED]}
    rig.reader.held = {step}
    async with rig.running():
        rig.ask("a", "b")
        await rig.reader.reached(step)
        # It means this snapshot; the next one has the same tables.
        rig.run.stop(["public.b"])
        rig.reader.release(step)
        await rig.end()
        assert rig.reported[-1] == "ABORTED"
        assert counted(rig)[0] == "aborted"
        assert rig.run.stored() == {}
        assert rig.keys("a") == []
        rig.ask("a", "b", id="t")
        await rig.end()
    assert (rig.keys("a"), rig.keys("b")) == (ALL_A, ALL_B)


@pytest.mark.parametrize("step", ["last_row", "rows"])
async def test_a_table_that_is_dropped_after_it_was_looked_at_is_left_out(step: str) -> None:
    rig = IncrementalRig()
    rig.reader.held = {step}
    rig.reader.failures = {step: [REFUSED if step == "last_row" else TableChangedError("a")]}
    async with rig.running():
        rig.ask("a", "b")
        await rig.reader.reached(step)
        del rig.reader.tables["a"]
        rig.reader.release(step)
        await rig.end()
    assert (rig.keys("a"), rig.keys("b")) == ([], ALL_B)
    status = "SQL_EXCEPTION" if step == "last_row" else "UNKNOWN_SCHEMA"
    assert f"TABLE_SCAN_COMPLETED public.a {status}" in rig.reported


async def test_a_table_that_changed_is_looked_at_and_read_again() -> None:
    rig = IncrementalRig()
    rig.reader.failures = {"rows": [TableChangedError("a")]}
    async with rig.running():
        rig.ask("a")
        await rig.end()
    assert rig.keys("a") == ALL_A
    assert rig.reader.calls[:5] == ["write_opening", "look_at", "last_row", "rows", "look_at"]


def _rig_with_transaction_700() -> IncrementalRig:
    """The stream has delivered the transaction 700, which changes table a."""
    rig, wal = IncrementalRig(), WalScript()
    wal.begin(700)
    wal.relation(relation_of(TABLES["a"]))
    wal.update(relation_of(TABLES["a"]), "2", "new")
    wal.commit()
    rig.stream_rig.feed(wal.take())
    return rig


async def test_a_chunk_that_missed_a_transaction_is_read_again_in_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "UNSEEN_PAUSES_S", (0.0,) * 3)
    rig = _rig_with_transaction_700()
    rig.reader.first_visible = [Visibility.parse("700:701:700")] * 3
    async with rig.running():
        rig.ask("a")
        await rig.end()
    assert rig.keys("a") == ALL_A
    assert rig.reader.calls.count("write_opening") == 3  # of two chunks, and the one that finds no more rows
    assert rig.reported.count("IN_PROGRESS") == 2
    assert rig.reader.calls.count("rows") == 6


async def test_a_chunk_that_missed_a_transaction_for_long_is_read_again_in_another_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "UNSEEN_PAUSES_S", ())
    rig = _rig_with_transaction_700()
    rig.reader.visible = Visibility.parse("700:701:700")
    rig.reader.held = {"write_closing"}
    async with rig.running():
        rig.ask("a")
        await rig.reader.reached("write_closing")
        rig.reader.visible = Visibility.parse("701:701:")
        rig.reader.release("write_closing")
        await rig.end()
    assert rig.keys("a") == ALL_A
    assert rig.reader.calls.count("rows") == 4


@each_step
async def test_a_pause_at_any_step_lets_the_chunk_end_and_a_resume_continues(step: str) -> None:
    rig = IncrementalRig()
    rig.reader.held = {step}
    async with rig.running():
        rig.ask("a", "b")
        await rig.reader.reached(step)
        rig.run.pause()
        rig.run.pause()
        before = "PAUSED" in rig.reported
        assert before is (step == "write_closing")
        rig.reader.release(step)
        await rig.windows.get()
        assert rig.keys("a") == [1, 2]
        assert rig.reported.count("PAUSED") == 1
        for _ in range(20):
            await asyncio.sleep(0)
        assert rig.keys("a") == [1, 2]
        stored = rig.run.stored()
        rig.run.resume_reading()
        rig.run.resume_reading()
        assert rig.reported.count("RESUMED") == 1
        await rig.end()
    assert (rig.keys("a"), rig.keys("b")) == (ALL_A, ALL_B)
    # After a restart nothing is paused, as in Debezium, whose offset does not hold a pause.
    again = IncrementalRig(offset=stored)
    async with again.running():
        await again.end()
    assert (again.keys("a"), again.keys("b")) == ([3], ALL_B)


@each_step
async def test_a_pause_that_is_taken_back_before_the_chunk_is_read_changes_nothing(step: str) -> None:
    rig = IncrementalRig()
    rig.reader.held = {step}
    async with rig.running():
        rig.ask("a", "b")
        await rig.reader.reached(step)
        rig.run.pause()
        rig.run.resume_reading()
        rig.reader.release(step)
        await rig.end()
    assert (rig.keys("a"), rig.keys("b")) == (ALL_A, ALL_B)
    assert (rig.reported.count("PAUSED"), rig.reported.count("RESUMED")) == (1, 1)


@each_step
@pytest.mark.parametrize(("entries", "rows"), [(["public.a"], ALL_B), (["public.b"], []), ([], [])])
async def test_a_stop_at_any_step_waits_for_the_next_chunk(step: str, entries: list[str], rows: list[int]) -> None:
    rig = IncrementalRig()
    rig.reader.held = {step}
    async with rig.running():
        rig.ask("a", "b")
        await rig.reader.reached(step)
        rig.run.stop(entries)
        assert "ABORTED" not in rig.reported
        rig.reader.release(step)
        await rig.end()
    assert rig.keys("a") == (ALL_A if entries == ["public.b"] else [1, 2])
    assert rig.keys("b") == rows
    assert "ABORTED" in rig.reported
    # As in Debezium, a snapshot whose last table is removed counts as completed, and only a table that was being read is done with.
    assert counted(rig)[0] == "completed"
    assert counted(rig)[2] == (set() if entries == ["public.a"] else {"public.b"})
    assert rig.run.stored() == {}


@each_step
async def test_tables_that_are_asked_for_at_any_step_are_read_too(step: str) -> None:
    rig = IncrementalRig()
    rig.reader.held = {step}
    async with rig.running():
        rig.ask("a")
        await rig.reader.reached(step)
        rig.ask("b", id="t")
        rig.reader.release(step)
        await rig.end()
    assert (rig.keys("a"), rig.keys("b")) == (ALL_A, ALL_B)
    assert rig.reported.count("STARTED") == 1
    # The chunk on its way names the signal and the tables that it was wanted for.
    first = next(notification for notification in rig.notifications if notification.type == "IN_PROGRESS")
    assert (first.id, (first.additional_data or {})["data_collections"]) == ("s", "public.a")
    assert rig.notifications[-1].id == "t"


async def test_a_stop_while_the_last_window_closes_does_not_touch_the_chunk_of_the_next_snapshot() -> None:
    """The next snapshot is asked for while the window of the ended one is open, and stopped while its first chunk waits."""
    rig = IncrementalRig({"a": {}, "b": {1: "v", 2: "v"}}, by_hand=True)
    async with rig.running():
        rig.ask("a")
        ended = await rig.reader.closed.get()
        rig.ask("b", "b", id="t")
        rig.run.window_opens(ended)
        rig.run.window_closes(ended)
        chunk = await rig.reader.closed.get()
        rig.run.window_opens(chunk)
        rig.run.stop(["public.b"])
        for _ in range(20):
            await asyncio.sleep(0)
        assert rig.run.state.names == ["public.b", "public.b"]
        rig.run.window_closes(chunk)
        await rig.end()
    assert rig.keys("b") == [1, 2]


@pytest.mark.parametrize("step", STEPS)
async def test_a_chunk_is_read_again_if_its_window_is_closed_early(step: str) -> None:
    rig = IncrementalRig(by_hand=True)
    rig.reader.held = {step}
    async with rig.running():
        rig.ask("b")
        await rig.reader.reached(step)
        opened = "" if step == "write_opening" else await rig.reader.opened.get()
        rig.run.window_opens(opened)
        rig.run.window_closes(opened)
        sent_early = rig.keys("b")
        rig.reader.release(step)
        while rig.run.state.running:
            closing = await rig.reader.closed.get()
            rig.run.window_opens(closing)
            rig.run.window_closes(closing)
            if not rig.stored_ends.empty():
                break
        if step != "write_closing":
            assert sent_early == []
    assert rig.keys("b") == ALL_B


async def test_a_watermark_of_another_chunk_changes_nothing() -> None:
    rig = IncrementalRig(by_hand=True)
    async with rig.running():
        rig.run.window_opens("x")
        rig.run.window_closes("x")
        rig.ask("b")
        chunk = await rig.reader.closed.get()
        rig.run.window_closes("x")
        assert rig.keys("b") == []
        rig.run.window_opens(chunk)
        rig.run.window_closes(chunk)
        assert rig.keys("b") == ALL_B


async def test_rows_that_cannot_be_sent_leave_the_position() -> None:
    rig = IncrementalRig(by_hand=True)
    async with rig.running():
        rig.ask("b")
        chunk = await rig.reader.closed.get()
        before = rig.run.stored()
        rig.sink.failure = LOST
        with pytest.raises(CdcError):
            rig.run.window_closes(chunk)
    assert rig.run.stored() == before


async def test_without_watermarks_a_window_closes_when_the_stream_has_passed_the_position() -> None:
    rig, wal = IncrementalRig(read_only=True), WalScript()
    wal.begin()
    rig.reader.lsn = wal.commit()
    frames = wal.take()
    async with rig.running():
        rig.ask("b")
        await rig.run.passed.wait()
        assert not rig.run.after_frames()
        rig.stream_rig.feed(frames[:1])
        assert not rig.run.after_frames()
        rig.stream_rig.feed(frames[1:])
        assert rig.run.after_frames()
        assert (rig.run.passed.is_set(), rig.keys("b")) == (False, ALL_B)
        await rig.end()


def test_what_is_stored_cannot_be_used(caplog: pytest.LogCaptureFixture) -> None:
    rig = IncrementalRig(offset={"incremental_snapshot_collections": "{"})
    assert not rig.run.state.running
    assert "cannot resume the incremental snapshot as stored" in caplog.text


@pytest.mark.parametrize("ask", [lambda rig: rig.run.pause(), lambda rig: rig.run.resume_reading(), lambda rig: rig.run.stop([])])
def test_signals_without_a_snapshot_do_nothing(ask: Callable[[IncrementalRig], None]) -> None:
    rig = IncrementalRig()
    ask(rig)
    assert (rig.notifications, rig.run.stored()) == ([], {})


async def test_the_same_table_twice_is_read_twice() -> None:
    rig = IncrementalRig()
    async with rig.running():
        rig.run.add([Collection("public.b"), Collection("public.b")], "s")
        await rig.end()
    assert rig.keys("b") == ALL_B * 2
