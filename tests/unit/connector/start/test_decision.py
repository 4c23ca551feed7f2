from __future__ import annotations

from dataclasses import replace

import pytest

from connector.catalog.snapshot_mode import SnapshotMode
from connector.delivery.offsets import StoredOffset
from connector.errors import CdcError, Directive, ErrorKind
from connector.start.decision import FROM_SLOT, FROM_SNAPSHOT, Decision, SlotState, decide
from tests.support.each_case import each_case

MODES = {name: SnapshotMode.of(name) for name in ("always", "initial", "initial_only", "no_data", "when_needed")}
STREAMING_MODES = [name for name in MODES if name != "initial_only"]
STRATEGIES = ["no_validation", "trust_offset", "trust_slot", "trust_greater_lsn"]

SLOT = SlotState(
    name="shop_slot",
    plugin="pgoutput",
    logical=True,
    same_database=True,
    database="shop",
    active=False,
    holder="",
    restart=100,
    confirmed=200,
    wal_status="reserved",
)
STREAMED = StoredOffset.parse({"lsn": 200, "lsn_commit": 200, "messageType": "COMMIT", "txId": 5})
SNAPSHOTTED = StoredOffset.parse({"lsn": 200, "snapshot": "INITIAL", "snapshot_completed": True, "last_snapshot_record": True})
BROKEN = StoredOffset.parse({"lsn": 150, "snapshot": "INITIAL", "snapshot_completed": False, "last_snapshot_record": False})
OFFSETS = {"none": None, "streaming": STREAMED, "finished snapshot": SNAPSHOTTED, "broken snapshot": BROKEN}


def at(lsn: int, commit: int | None = None, kind: str = "COMMIT") -> StoredOffset:
    return StoredOffset.parse({"lsn": lsn, "messageType": kind, "txId": 5, **({} if commit is None else {"lsn_commit": commit})})


def run(mode: str, slot: SlotState | None, offset: StoredOffset | None, strategy: str = "no_validation") -> Decision:
    return decide(MODES[mode], slot, offset, strategy)


def refused(mode: str, slot: SlotState | None, offset: StoredOffset | None, strategy: str = "no_validation") -> CdcError:
    with pytest.raises(CdcError) as reported:
        run(mode, slot, offset, strategy)
    assert reported.value.directive is Directive.OPERATOR
    return reported.value


def shape(decision: Decision) -> tuple[bool, bool, bool, bool, int]:
    """Drop, create, snapshot, stream, start."""
    return (decision.drop_slot, decision.create_slot, decision.snapshot, decision.stream, decision.start)


FOREIGN = [
    (replace(SLOT, logical=False), "physical"),
    (replace(SLOT, same_database=False, database="other"), "database other"),
    (replace(SLOT, plugin="wal2json"), "wal2json, not pgoutput"),
]


@each_case("mode", STREAMING_MODES)
@each_case("offset", OFFSETS.values(), ids=list(OFFSETS))
@each_case(("slot", "word"), FOREIGN, ids=["physical", "database", "plugin"])
def test_slot_of_another_client(mode: str, offset: StoredOffset | None, slot: SlotState, word: str) -> None:
    error = refused(mode, slot, offset)
    assert error.kind is ErrorKind.SLOT_MISMATCH
    assert "shop_slot" in error.message
    assert word in error.message
    assert "SELECT pg_drop_replication_slot('shop_slot');" in error.remedy


@each_case("offset", OFFSETS.values(), ids=list(OFFSETS))
@each_case("mode", STREAMING_MODES)
def test_slot_that_lost_its_wal(mode: str, offset: StoredOffset | None) -> None:
    lost = replace(SLOT, wal_status="lost", restart=0)
    if mode == "when_needed":
        assert shape(run(mode, lost, offset)) == (True, True, True, True, FROM_SNAPSHOT)
        return
    error = refused(mode, lost, offset)
    assert error.kind is ErrorKind.SLOT_LOST
    assert "shop_slot" in error.message
    assert "SELECT pg_drop_replication_slot('shop_slot');" in error.remedy
    assert "snapshot.mode=when_needed" in error.remedy


@pytest.mark.parametrize("status", ["reserved", "extended", "unreserved", ""])
def test_slot_that_still_has_its_wal_resumes(status: str) -> None:
    assert shape(run("initial", replace(SLOT, wal_status=status), STREAMED)) == (False, False, False, True, 200)


@each_case("mode", STREAMING_MODES)
@each_case("offset", [STREAMED, SNAPSHOTTED], ids=["streaming", "finished snapshot"])
def test_no_slot_but_an_offset_of_finished_work(mode: str, offset: StoredOffset) -> None:
    if mode in ("when_needed", "always"):
        assert shape(run(mode, None, offset)) == (False, True, True, True, FROM_SNAPSHOT)
        return
    error = refused(mode, None, offset)
    assert error.kind is ErrorKind.SLOT_MISMATCH
    assert "0/C8" in error.message
    assert "slot" in error.message
    assert "snapshot.mode=when_needed" in error.remedy
    assert "no longer available on the server" in error.detail


@each_case("mode", STREAMING_MODES)
@each_case("offset", [None, BROKEN], ids=["none", "broken snapshot"])
def test_no_slot_and_nothing_finished(mode: str, offset: StoredOffset | None) -> None:
    assert shape(run(mode, None, offset)) == (False, True, mode != "no_data", True, FROM_SNAPSHOT)


@each_case("mode", STREAMING_MODES)
@each_case("offset", [at(99, 99), at(99, 98, "INSERT"), at(50)], ids=["between", "inside", "without commit"])
def test_offset_before_the_slot(mode: str, offset: StoredOffset) -> None:
    if mode in ("when_needed", "always"):
        decision = run(mode, SLOT, offset)
        assert shape(decision) == (False, False, True, True, FROM_SNAPSHOT)
        # A new snapshot starts, so no change of the old transaction may be skipped.
        assert decision.offset is None
        return
    error = refused(mode, SLOT, offset)
    assert error.kind is ErrorKind.SLOT_MISMATCH
    assert "shop_slot" in error.message
    # Both positions, how far they are apart, and from where on the slot holds WAL.
    reached = offset.lsn or 0
    assert all(reported in error.message for reported in (f"0/{reached:X}", f"{200 - reached} bytes", "0/C8", "0/64"))
    assert "it cannot report what that was" in error.remedy
    assert "snapshot.mode=when_needed" in error.remedy
    assert "offset.mismatch.strategy=trust_slot" in error.remedy


def test_an_offset_right_at_the_slots_wal_is_not_before_it() -> None:
    assert shape(run("initial", SLOT, at(100, 100))) == (False, False, False, True, 100)


@pytest.mark.parametrize("mode", STREAMING_MODES)
def test_slot_without_an_offset(mode: str) -> None:
    expected = (False, False, False, True, FROM_SLOT) if mode == "no_data" else (False, False, True, True, FROM_SNAPSHOT)
    assert shape(run(mode, SLOT, None)) == expected


@pytest.mark.parametrize("mode", STREAMING_MODES)
def test_slot_and_a_broken_snapshot_streams_from_the_slot(mode: str) -> None:
    decision = run(mode, SLOT, BROKEN)
    assert shape(decision) == (False, False, mode != "no_data", True, FROM_SLOT)
    assert decision.offset is None


@each_case("mode", STREAMING_MODES)
@each_case("offset", [STREAMED, SNAPSHOTTED], ids=["streaming", "finished snapshot"])
def test_slot_and_an_offset_resume(mode: str, offset: StoredOffset) -> None:
    decision = run(mode, SLOT, offset)
    if mode == "always":
        assert shape(decision) == (False, False, True, True, FROM_SNAPSHOT)
        assert decision.offset is None
    else:
        assert shape(decision) == (False, False, False, True, 200)
        assert decision.offset is offset


def test_resuming_inside_a_transaction_starts_at_the_end_of_the_one_before() -> None:
    offset = at(300, 250, "INSERT")
    decision = run("initial", SLOT, offset)
    assert (decision.start, decision.offset) == (250, offset)
    first = at(300, None, "INSERT")
    decision = run("initial", replace(SLOT, confirmed=300), first)
    # No earlier commit was seen. Its change precedes its commit, so from there the server sends the whole transaction again.
    assert (decision.start, decision.offset) == (300, first)


ONWARD = {  # strategy: what happens when the slot is confirmed after the offset, and when it is confirmed before it
    "no_validation": ((400, 0), (400, 0)),
    "trust_offset": (None, (400, 400)),
    "trust_slot": ((500, 0), (400, 0)),
    "trust_greater_lsn": ((500, 0), (400, 400)),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies_when_slot_and_offset_differ(strategy: str) -> None:
    ahead, behind = ONWARD[strategy]
    offset = at(400, 400)
    beyond = replace(SLOT, confirmed=500)
    if ahead is None:
        error = refused("initial", beyond, offset, strategy)
        assert error.kind is ErrorKind.SLOT_MISMATCH
        assert "shop_slot" in error.message
        assert "0/1F4" in error.message
        assert "0/190" in error.message
        assert "offset.mismatch.strategy=trust_slot" in error.remedy
    else:
        decision = run("initial", beyond, offset, strategy)
        assert (decision.start, decision.advance_slot, decision.snapshot) == (*ahead, False)
    decision = run("initial", replace(SLOT, confirmed=300), offset, strategy)
    assert (decision.start, decision.advance_slot, decision.snapshot) == (*behind, False)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equal_positions_need_no_strategy(strategy: str) -> None:
    decision = run("initial", SLOT, STREAMED, strategy)
    assert (decision.start, decision.advance_slot, decision.why) == (200, 0, "resume")


@pytest.mark.parametrize("strategy", ["trust_slot", "trust_greater_lsn"])
def test_trusting_a_slot_ahead_continues_even_if_the_wal_is_removed(strategy: str) -> None:
    decision = run("initial", SLOT, at(50, 50), strategy)
    assert (decision.start, decision.snapshot) == (200, False)


@pytest.mark.parametrize("strategy", ["no_validation", "trust_slot", "trust_greater_lsn"])
def test_a_slot_confirmed_beyond_the_offset_is_logged(strategy: str) -> None:
    assert run("initial", replace(SLOT, confirmed=500), at(400, 400), strategy).unsent == (400, 500)
    assert run("initial", replace(SLOT, confirmed=400), at(400, 400), strategy).unsent is None
    # What is half sent ends after the change that was sent last: nothing ended between.
    assert run("initial", replace(SLOT, confirmed=350), at(400, 300, "INSERT"), strategy).unsent is None


@each_case("offset", OFFSETS.values(), ids=list(OFFSETS))
@each_case("slot", [None, SLOT, replace(SLOT, wal_status="lost"), FOREIGN[0][0]], ids=["none", "there", "lost", "foreign"])
def test_initial_only_needs_no_slot(slot: SlotState | None, offset: StoredOffset | None) -> None:
    wanted = offset in (None, BROKEN)
    assert shape(run("initial_only", slot, offset)) == (False, False, wanted, False, FROM_SNAPSHOT)


@pytest.mark.parametrize(
    ("flags", "offset", "expected"),
    [
        ({"data": True, "stream": True}, None, (False, True, True, True, FROM_SNAPSHOT)),
        ({"data": False, "stream": True}, None, (False, True, False, True, FROM_SNAPSHOT)),
        ({"data": True, "stream": False}, None, (False, False, True, False, FROM_SNAPSHOT)),
        ({"data": False, "stream": False}, None, (False, False, False, False, FROM_SNAPSHOT)),
        ({"data": True, "stream": True, "on_data_error": True}, STREAMED, (False, True, True, True, FROM_SNAPSHOT)),
    ],
)
def test_configuration_based(flags: dict[str, bool], offset: StoredOffset | None, expected: tuple[bool, bool, bool, bool, int]) -> None:
    assert shape(decide(SnapshotMode.of("configuration_based", based_on=flags), None, offset, "no_validation")) == expected


@pytest.mark.parametrize("offset", [STREAMED, SNAPSHOTTED], ids=["streaming", "finished snapshot"])
@pytest.mark.parametrize("data", [True, False])
def test_configuration_based_with_data_reads_the_rows_at_each_start(data: bool, offset: StoredOffset) -> None:
    mode = SnapshotMode.of("configuration_based", based_on={"data": data, "stream": True})
    decision = decide(mode, SLOT, offset, "no_validation")
    assert shape(decision) == (False, False, data, True, FROM_SNAPSHOT if data else 200)
    only = SnapshotMode.of("configuration_based", based_on={"data": data, "stream": False})
    assert decide(only, None, offset, "no_validation").snapshot is data


@pytest.mark.parametrize("data", [True, False])
def test_configuration_based_makes_up_for_a_lost_slot_only_if_told_to(data: bool) -> None:
    mode = SnapshotMode.of("configuration_based", based_on={"data": data, "stream": True})
    with pytest.raises(CdcError) as reported:
        decide(mode, None, STREAMED, "no_validation")
    assert reported.value.kind is ErrorKind.SLOT_MISMATCH
    told = SnapshotMode.of("configuration_based", based_on={"data": data, "stream": True, "on_data_error": True})
    for slot in (None, replace(SLOT, wal_status="lost")):
        assert decide(told, slot, STREAMED, "no_validation").snapshot is data


def test_without_the_position_check_an_offset_before_the_slot_s_wal_is_no_reason_to_stop() -> None:
    slot = SlotState("s", "pgoutput", True, True, "db", False, "", restart=200, confirmed=200, wal_status="reserved")
    offset = StoredOffset.parse({"lsn": 100, "lsn_commit": 100, "messageType": "COMMIT"})
    mode = SnapshotMode.of("initial")
    with pytest.raises(CdcError):
        decide(mode, slot, offset, "no_validation")
    assert decide(mode, slot, offset, "no_validation", check_position=False).start == 100
