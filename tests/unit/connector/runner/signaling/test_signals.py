"""Signals, without servers: each is executed, refused or ignored according to its kind, and only a lost connection ends the task."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from connector.errors import CdcError, ErrorKind
from connector.events.transitions import SignalRow
from connector.plugins.allowed import AllowedPlugins
from connector.runner.signaling.signals import Signals, SignalSources
from connector.signals.custom_action import SignalAction
from connector.signals.signal import CLOSE, OPEN, Signal
from tests.support.chunk_tables import SIGNALS, TABLES
from tests.support.fake_signal_source import FakeSignalSource
from tests.support.incremental_rig import SECONDS, IncrementalRig
from tests.support.log_line import log_text
from tests.support.stream_rig import relation_of
from tests.support.task_context import task_context
from tests.support.wal_script import WalScript

LOST = CdcError(ErrorKind.SOURCE_CONNECTION_LOST, "The connection was lost")
REFUSED = CdcError(ErrorKind.SOURCE_PERMISSION, "The server refused")


class Mine(SignalAction):
    """Keeps what it is given."""

    type = "mine"
    taken: list[Mapping[str, object]]
    error: BaseException | None = None

    def __init__(self) -> None:
        self.taken = []

    async def arrived(self, signal: Signal, data: Mapping[str, object]) -> None:
        self.taken.append(data)
        if self.error is not None:
            raise self.error


class Blocking:
    """Takes blocking snapshots, and keeps which."""

    def __init__(self) -> None:
        self.taken: list[tuple[list[str], dict[str, str], bool]] = []
        self.error: BaseException | None = None
        self.refusal: str | None = None

    async def bulk_refusal(self) -> str | None:
        return self.refusal

    async def take(self, names: list[str], selects: dict[str, str], _last: object, _lsn: int, *, in_bulk: bool) -> None:
        if self.error is not None:
            raise self.error
        self.taken.append((names, selects, in_bulk))


class Rig(IncrementalRig):
    """Signals of one run, with the incremental snapshots they ask for."""

    def __init__(self, *, read_only: bool = True, **properties: Any) -> None:
        super().__init__(read_only=read_only, signal_actions=f"{__name__}:Mine", **properties)
        self.source = FakeSignalSource([(table.schema, table.table) for table in (*TABLES.values(), SIGNALS)])
        self.sources = SignalSources(task_context(self.config, plugins=AllowedPlugins.parse(__name__)), self.config)
        self.blocking = Blocking()
        self.refreshed: list[tuple[str, str]] = []
        self.refresh_error: BaseException | None = None
        self.changes: asyncio.Queue[None] = asyncio.Queue()
        self.gate = asyncio.Lock()
        self.signals = Signals(
            self.config,
            self.stream_rig.capture,
            self.source,
            self.stream_rig.stream,
            self.run,
            cast("Any", self.blocking),
            self.sources,
            gate=self.gate,
            refresh=self._refresh,
            changed=lambda: self.changes.put_nowait(None),
        )

    @property
    def mine(self) -> Mine:
        return cast("Mine", self.sources.actions["mine"])

    async def _refresh(self, schema: str, table: str) -> None:
        if self.refresh_error is not None:
            raise self.refresh_error
        self.refreshed.append((schema, table))

    async def row(self, kind: str, data: object = None, id: str = "s", *, deleted: bool = False) -> None:  # noqa: A002 (the column's name)
        """A row of the signal table comes through the stream."""
        text = None if data is None else json.dumps(data).encode()
        await self.signals.row(SignalRow(deleted, (id.encode(), kind.encode(), text)))


def execute(*tables: str, **data: object) -> dict[str, object]:
    return {"data-collections": [f"public.{table}" for table in tables], **{key.replace("_", "-"): value for key, value in data.items()}}


async def test_an_incremental_snapshot_is_begun_paused_continued_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    await rig.row("execute-snapshot", execute("."))
    assert sorted(rig.run.state.names) == ["public.a", "public.b"]
    await rig.row("pause-snapshot")
    assert rig.run.state.paused
    await rig.row("resume-snapshot")
    assert not rig.run.state.paused
    await rig.row("stop-snapshot", {"type": "incremental"})
    assert rig.reported == ["STARTED", "PAUSED", "RESUMED"]
    async with rig.running():
        await rig.end()
    assert rig.reported[-2:] == ["COMPLETED", "ABORTED"]


@pytest.mark.parametrize("kind", ErrorKind)
@pytest.mark.parametrize("step", ["tables", "check_signal_table"])
async def test_only_an_error_that_passes_ends_the_task_when_a_snapshot_is_prepared(
    step: str, kind: ErrorKind, caplog: pytest.LogCaptureFixture
) -> None:
    rig, error = Rig(read_only=False), CdcError(kind, "No answer")
    rig.source.faults.order(step, error)
    if error.passes:
        with pytest.raises(CdcError) as raised:
            await rig.row("execute-snapshot", execute("a"))
        assert raised.value is error
    else:
        await rig.row("execute-snapshot", execute("a"))
        assert "signal failed id=s type=execute-snapshot channel=source reason=No answer" in log_text(caplog.records)
    assert (rig.run.stored(), rig.notifications, rig.source.faults.raised) == ({}, [], [step])
    # The next signal is performed.
    await rig.row("execute-snapshot", execute("a"))
    assert rig.run.state.names == ["public.a"]


@pytest.mark.parametrize(
    ("properties", "checked"),
    [
        ({"read_only": True}, []),
        ({"read_only": False}, [("public", "sig", False)]),
        ({"read_only": False, "skipped_operations": "c"}, [("public", "sig", False)]),
        ({"read_only": False, "incremental_snapshot_watermarking_strategy": "insert_delete"}, [("public", "sig", True)]),
    ],
)
async def test_the_signal_table_is_checked_before_watermarks_are_written(
    properties: dict[str, Any], checked: list[tuple[str, str, bool]]
) -> None:
    rig = Rig(**properties)
    await rig.row("execute-snapshot", execute("a"))
    assert (rig.source.checked, rig.run.state.names) == (checked, ["public.a"])


async def test_an_expression_selects_captured_tables_and_never_the_signal_table() -> None:
    rig = Rig(read_only=False, table_include_list="public.a,public.sig")
    await rig.row("execute-snapshot", execute("."))
    assert rig.run.state.names == ["public.a"]


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"rows": "0"}, "incremental.snapshot.chunk.size is 0"),
    ],
)
async def test_a_configuration_that_allows_no_incremental_snapshot(
    properties: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(**properties)
    await rig.row("execute-snapshot", execute("a"))
    assert f"signal ignored id=s type=execute-snapshot channel=source reason={reason}" in log_text(caplog.records)
    assert not rig.run.state.running


@pytest.mark.parametrize("kind", [OPEN, CLOSE])
async def test_watermarks_are_taken_where_the_signal_channel_is_off(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(signal_enabled_channels="")
    seen: list[str] = []
    monkeypatch.setattr(rig.run, "window_opens", seen.append)
    monkeypatch.setattr(rig.run, "window_closes", seen.append)
    await rig.row(kind, id=f"c{'-open' if kind == OPEN else '-close'}")
    await rig.row("mine", {"x": 1})
    assert (seen, rig.mine.taken) == (["c"], [])


@pytest.mark.parametrize(("strategy", "seen"), [("insert_delete", ["c"]), ("insert_insert", [])])
async def test_a_deleted_row_closes_a_window_with_one_strategy(strategy: str, seen: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(read_only=False, incremental_snapshot_watermarking_strategy=strategy)
    closed: list[str] = []
    monkeypatch.setattr(rig.run, "window_closes", closed.append)
    await rig.row(OPEN, id="c-open", deleted=True)
    await rig.row("mine", id="other", deleted=True)
    assert (closed, rig.mine.taken) == (seen, [])


async def test_rows_of_a_chunk_that_cannot_be_sent_end_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()

    def fail(_chunk: str) -> None:
        raise REFUSED

    monkeypatch.setattr(rig.run, "window_closes", fail)
    with pytest.raises(CdcError) as raised:
        await rig.row(CLOSE, id="c-close")
    assert raised.value is REFUSED


@pytest.mark.parametrize("cells", [(), (b"s",), (b"s", b"log", b"{}", b"x"), (b"\xff", b"log", None)])
async def test_a_row_that_is_no_signal_is_skipped(
    cells: tuple[bytes | None, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    await rig.signals.row(SignalRow(deleted=False, cells=cells))
    assert "signal ignored" in log_text(caplog.records)


@pytest.mark.parametrize("error", [RuntimeError("secret"), SystemExit("secret"), asyncio.CancelledError("secret")])
async def test_an_action_that_raises_is_reported_and_the_next_signal_is_obeyed(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    rig.mine.error = error
    await rig.row("mine", {"x": 1})
    rig.mine.error = None
    await rig.row("mine", {"x": 2})
    assert rig.mine.taken == [{"x": 1}, {"x": 2}]
    warnings = log_text(caplog.records)
    assert f"signal action failed id=s type=mine channel=source error={type(error).__name__}" in warnings
    assert "secret" not in warnings


@pytest.mark.parametrize("error", [None, LOST, REFUSED])
async def test_tables_are_looked_at_again(
    error: CdcError | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig()
    rig.refresh_error = error
    data = {"database": "shop", "changes": [{"id": '"shop"."public"."a"'}]}
    if error is LOST:
        with pytest.raises(CdcError):
            await rig.row("schema-changes", data)
        return
    await rig.row("schema-changes", data)
    assert rig.refreshed == ([] if error else [("public", "a")])
    assert ("signal failed" in log_text(caplog.records)) is bool(error)


async def test_a_message_shows_the_offset(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rig, wal = Rig(), WalScript()
    with caplog.at_level("INFO"):
        await rig.row("log", {"message": "at {}"})
        wal.begin()
        end = wal.commit()
        rig.stream_rig.feed(wal.take())
        await rig.row("log", {"message": "at {}"})
    first, second = [line for line in log_text(caplog.records).splitlines() if line.startswith("log signal")]
    assert first == "log signal message=at <none>"
    assert f"lsn={end}" in second


async def test_a_blocking_snapshot_waits_for_the_end_of_the_transaction_and_is_repeated_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig, wal = Rig(), WalScript()
    wal.begin()
    wal.relation(relation_of(TABLES["a"]))
    frames = wal.take()
    wal.commit()
    rig.stream_rig.feed(frames)
    await rig.row("execute-snapshot", execute("a", type="blocking", additional_conditions=[{"data-collection": "public.a", "filter": "X"}]))
    await rig.signals.at_rest()
    assert (rig.blocking.taken, len(rig.signals.due), rig.stream_rig.stream.halt_at_commit) == ([], 1, True)
    rig.stream_rig.feed(wal.take())
    rig.blocking.error = LOST
    with pytest.raises(CdcError):
        await rig.signals.at_rest()
    # Nothing that is streamed may count as reached while it is due.
    assert len(rig.signals.due) == 1
    rig.blocking.error = None
    await rig.signals.at_rest()
    assert rig.blocking.taken == [(["public.a"], {"public.a": "X"}, False)]
    assert (rig.signals.due, rig.stream_rig.stream.halt_at_commit) == ([], False)


async def test_a_refused_bulk_snapshot_is_skipped(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.blocking.refusal = "no Spark"
    await rig.row("execute-snapshot", execute("a", type="spark"))
    assert "reason=no Spark" in log_text(caplog.records)
    assert rig.signals.due == []


async def test_signals_of_other_channels_wait_for_the_gate_and_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    task = asyncio.create_task(rig.signals.run())
    async with asyncio.timeout(SECONDS):
        async with rig.gate:
            rig.sources.arrived.put_nowait(Signal("k", "mine", '{"x": 1}', "kafka"))
            for _ in range(5):
                await asyncio.sleep(0)
            assert rig.mine.taken == []
        await rig.changes.get()
        assert rig.mine.taken == [{"x": 1}]
        rig.source.faults.order("tables", LOST)
        rig.sources.arrived.put_nowait(Signal("k", "execute-snapshot", json.dumps(execute("a")), "kafka"))
        with pytest.raises(CdcError):
            await task
    assert not rig.gate.locked()


async def test_cancelled_while_a_signal_waits_for_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    task = asyncio.create_task(rig.signals.run())
    async with rig.gate:
        rig.sources.arrived.put_nowait(Signal("k", "mine", "{}", "kafka"))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert rig.mine.taken == []
