"""The coordinator of incremental snapshots: which event may come when, what each brings about, and what is shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from connector.catalog.visibility import Visibility
from connector.delivery.progress import IncrementalProgress
from connector.errors import CdcError, ErrorKind
from connector.incremental.coordinator import BEGIN_S, ChunkSettings, Coordinator
from connector.incremental.coordinator_effects import (
    CloseWindow,
    Connect,
    Effect,
    FindLastRow,
    FindPosition,
    InProgress,
    Log,
    LookAtTable,
    Notify,
    OpenWindow,
    ReadChunk,
    SendRows,
    Show,
    Started,
    StoreState,
    TableCompleted,
    Wake,
    WriteClosing,
    WriteOpening,
)
from connector.incremental.coordinator_events import (
    ChunkDue,
    ChunkFailed,
    ChunkRead,
    ClosingSeen,
    Connected,
    Event,
    LastRowFound,
    NoRowsLeft,
    OpeningSeen,
    PauseAsked,
    PositionFound,
    ResumeAsked,
    Resumed,
    RowsSent,
    SnapshotAsked,
    StopAsked,
    StreamReached,
    TableChanged,
    TableFound,
    TableRefused,
    TimePassed,
    WatermarkWritten,
    WindowAttached,
)
from connector.incremental.coordinator_phases import AT_ANY_TIME, TRANSITIONS, Phase
from connector.incremental.state import Collection
from tests.support.chunk_tables import target_of
from tests.support.each_case import each_case

A, B = Collection("public.a"), Collection("public.b")
TARGET = target_of(A)
ONE, TWO = TARGET.place(("1",)), TARGET.place(("2",))
READ = ChunkRead((b"1\tv",), ((b"1",),), Visibility.parse("9:9:"), ONE)
ASKED = SnapshotAsked((A, B), "s")
PATH: Sequence[tuple[Phase, Event[bytes]]] = (
    (Phase.DUE, ASKED),
    (Phase.OPENING, ChunkDue("c")),
    (Phase.LOOKING, WatermarkWritten()),
    (Phase.MEASURING, TableFound(TARGET)),
    (Phase.READING, LastRowFound(TWO)),
    (Phase.CLOSING, READ),
    (Phase.WAITING, WatermarkWritten()),
)
"""The events of one chunk, and the phase each leads to."""
EVENTS: Sequence[Event[bytes]] = (
    ASKED,
    PauseAsked(),
    ResumeAsked(),
    StopAsked(()),
    OpeningSeen("x"),
    ClosingSeen("x"),
    StreamReached(1, between=True),
    Resumed({}),
    ChunkDue("d"),
    TimePassed(60),
    WindowAttached(frozenset()),
    Connected(),
    WatermarkWritten(),
    PositionFound(1),
    ChunkFailed("x"),
    TableFound(TARGET),
    TableRefused("UNKNOWN_SCHEMA", "x"),
    LastRowFound(TWO),
    READ,
    NoRowsLeft(),
    TableChanged(),
    RowsSent(),
)


def made(upto: Phase = Phase.IDLE, *, watermarks: bool = True, seconds: float = 0.0) -> Coordinator[bytes]:
    """A coordinator that has come to a phase."""
    coordinator = Coordinator[bytes](ChunkSettings(watermarks=watermarks, rows=10, seconds=seconds))
    if upto is Phase.PAUSED:
        coordinator = made(Phase.WAITING)
        coordinator.handle(PauseAsked(), 0.0)
        coordinator.handle(ClosingSeen("c"), 0.0)
        coordinator.handle(RowsSent(), 0.0)
    elif upto is not Phase.IDLE:
        for phase, event in PATH:
            coordinator.handle(event, 0.0)
            assert coordinator.phase is phase
            if phase is upto:
                break
    assert coordinator.phase is upto
    return coordinator


def without_words(effects: Sequence[Effect[bytes]]) -> list[Effect[bytes]]:
    return [effect for effect in effects if not isinstance(effect, Log | Show)]


def test_every_event_is_in_the_table() -> None:
    named = {kind for row in TRANSITIONS.values() for kind in row} | AT_ANY_TIME
    assert named == {type(event) for event in EVENTS}
    assert set(TRANSITIONS) == set(Phase)


@each_case("phase", Phase)
@each_case("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_leads_where_the_table_says_or_is_refused(phase: Phase, event: Event[bytes]) -> None:
    coordinator = made(phase)
    leads = TRANSITIONS[phase].get(type(event))
    # No phase but a moment asks for it.
    if (leads is None and type(event) not in AT_ANY_TIME) or isinstance(event, RowsSent):
        with pytest.raises(CdcError) as refused:
            coordinator.handle(event, 0.0)
        assert refused.value.kind is ErrorKind.INTERNAL
        assert type(event).__name__ in refused.value.message
        assert coordinator.phase is phase
    else:
        coordinator.handle(event, 0.0)
        assert coordinator.phase in (leads or (phase,))


def test_one_chunk_from_its_signal_to_the_next() -> None:
    coordinator = made()
    done: list[Effect[bytes]] = []
    for event in (*(event for _, event in PATH[:2]), OpeningSeen("c"), WindowAttached(frozenset()), *(event for _, event in PATH[2:])):
        done += without_words(coordinator.handle(event, 0.0))
    window = next(effect for effect in done if isinstance(effect, OpenWindow))
    assert done == [
        Notify(Started("s", ("public.a", "public.b"))),
        Wake(BEGIN_S),
        WriteOpening("c"),
        OpenWindow("public.a", window.window),
        LookAtTable(A),
        FindLastRow(TARGET),
        ReadChunk(TARGET, None, ("2",), 10),
        Notify(InProgress("s", ("public.a", "public.b"), "public.a", TWO, ONE)),
        WriteClosing("c"),
    ]
    assert without_words(coordinator.handle(ClosingSeen("c"), 0.0)) == [CloseWindow(), SendRows(TARGET, [b"1\tv"])]
    assert coordinator.state.position is None
    assert without_words(coordinator.handle(RowsSent(), 0.0)) == [Wake(0.0)]
    assert coordinator.state.position == ONE
    coordinator.handle(ChunkDue("d"), 0.0)
    assert without_words(coordinator.handle(WatermarkWritten(), 0.0)) == [ReadChunk(TARGET, ("1",), ("2",), 10)]


def test_a_window_that_closes_before_the_server_has_answered_waits_for_the_answer() -> None:
    coordinator = made(Phase.CLOSING)
    coordinator.handle(OpeningSeen("c"), 0.0)
    coordinator.handle(ClosingSeen("c"), 0.0)
    assert without_words(coordinator.handle(RowsSent(), 0.0)) == []
    assert coordinator.phase is Phase.CLOSING
    # What is asked for from now on is the next chunk's: it is wanted already.
    coordinator.handle(PauseAsked(), 0.0)
    assert without_words(coordinator.handle(WatermarkWritten(), 0.0)) == [Wake(0.0)]


def test_without_watermarks_the_window_is_open_before_the_read_and_a_position_closes_it() -> None:
    coordinator = made(watermarks=False)
    coordinator.handle(ASKED, 0.0)
    assert without_words(coordinator.handle(ChunkDue("c"), 0.0)) == [Connect()]
    opened = without_words(coordinator.handle(Connected(), 0.0))
    assert [type(effect) for effect in opened] == [OpenWindow, LookAtTable]
    for event in (TableFound(TARGET), LastRowFound(TWO)):
        coordinator.handle(event, 0.0)
    assert without_words(coordinator.handle(READ, 0.0))[-1] == FindPosition()
    coordinator.handle(PositionFound(7), 0.0)
    for reached in (StreamReached(6, between=True), StreamReached(8, between=False)):
        assert coordinator.handle(reached, 0.0) == []
    assert CloseWindow() in coordinator.handle(StreamReached(7, between=True), 0.0)
    assert coordinator.closes_at is None


def test_the_end_of_the_last_table_is_stored() -> None:
    coordinator = made(Phase.READING)
    done = without_words(coordinator.handle(NoRowsLeft(), 0.0))
    assert done[0] == Notify(TableCompleted("s", ("public.a", "public.b"), "public.a", 0, "SUCCEEDED"))
    coordinator.handle(TableRefused("UNKNOWN_SCHEMA", "it is gone"), 0.0)
    assert (coordinator.phase, coordinator.state.running) == (Phase.CLOSING, False)
    for event in (WatermarkWritten(), ClosingSeen("c")):
        coordinator.handle(event, 0.0)
    assert without_words(coordinator.handle(ChunkDue("d"), 0.0)) == [StoreState()]
    assert coordinator.phase is Phase.IDLE


@pytest.mark.parametrize(("seconds", "rows"), [(0.0, 10), (1.0, 20), (100.0, 10)])
def test_the_size_of_chunks_follows_the_time_they_take(seconds: float, rows: int) -> None:
    coordinator = made(seconds=seconds and 1.0)
    for _, event in PATH[:5]:
        coordinator.handle(event, 0.0)
    coordinator.handle(READ, 0.25 if seconds == 1.0 else 10.0)
    for event in (WatermarkWritten(), OpeningSeen("c"), ClosingSeen("c"), RowsSent(), ChunkDue("d")):
        coordinator.handle(event, 0.0)
    [order] = [effect for effect in coordinator.handle(WatermarkWritten(), 0.0) if isinstance(effect, ReadChunk)]
    assert order.rows == rows


def test_what_is_shown() -> None:
    coordinator = made(Phase.WAITING)
    coordinator.handle(ClosingSeen("c"), 4.0)
    [shown] = [effect.progress for effect in coordinator.handle(RowsSent(), 5.0) if isinstance(effect, Show)]
    assert isinstance(shown, IncrementalProgress)
    assert (shown.table.table, shown.table.rows, shown.table.seconds) == ("public.a", 1, 5.0)
    assert (shown.chunks, shown.waiting, shown.paused) == (1, ["public.b"], False)
    # What was shown before does not change any more.
    before = shown.table
    for event in (ChunkDue("d"), WatermarkWritten(), READ, WatermarkWritten(), ClosingSeen("d"), RowsSent()):
        coordinator.handle(event, 6.0)
    assert before.rows == 1


@each_case("phase", Phase)
def test_only_a_window_that_stays_open_is_reported(phase: Phase) -> None:
    effects = made(phase).handle(TimePassed(60), 0.0)
    assert [effect.event for effect in effects if isinstance(effect, Log)] == (
        ["incremental snapshot waits for its window to close"] if phase is Phase.WAITING else []
    )


def test_a_table_whose_key_changed_is_read_from_its_beginning() -> None:
    coordinator = made()
    stored = {
        "incremental_snapshot_primary_key": ONE.stored,
        "incremental_snapshot_maximum_key": TWO.stored,
        "incremental_snapshot_collections": '[{"incremental_snapshot_collections_id": "public.a"}]',
    }
    coordinator.handle(Resumed(stored), 0.0)
    assert coordinator.state.position == ONE
    coordinator.handle(ChunkDue("c"), 0.0)
    coordinator.handle(WatermarkWritten(), 0.0)
    found = target_of(coordinator.state.collections[0])
    assert without_words(coordinator.handle(TableFound(found), 0.0)) == [ReadChunk(found, ("1",), ("2",), 10)]
    coordinator.handle(TableChanged(), 0.0)
    other = replace(found, order=replace(found.order, unique=False))
    assert without_words(coordinator.handle(TableFound(other), 0.0)) == [FindLastRow(other)]
    assert coordinator.state.position is None
