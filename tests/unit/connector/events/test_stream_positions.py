from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.delivery.offsets import Position, Resume, StoredOffset, resume_point
from connector.errors import CdcError, ErrorKind
from connector.events.stream_settings import StreamSettings
from connector.events.transitions import TRANSITIONS, State, Used
from connector.types.codec import Column
from connector.wire.pgoutput import (
    BEGIN,
    COMMIT,
    DELETE,
    INSERT,
    MESSAGE,
    ORIGIN,
    RELATION,
    TRUNCATE,
    TYPE,
    UPDATE,
)
from tests.support import wal_script
from tests.support.each_case import each_case
from tests.support.stream_rig import INT4, NOW_NS, TEXT, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, WalScript

ORDERS = catalog_table("orders", Column("id", INT4, not_null=True), Column("note", TEXT), primary_key=["id"])
NUMERIC_10_2 = 655366
OTHER = catalog_table("other", Column("id", INT4, not_null=True), Column("n", 1700, NUMERIC_10_2), oid=5001, primary_key=["id"])
R_ORDERS, R_OTHER = relation_of(ORDERS), relation_of(OTHER)
ALL_OPERATIONS = StreamSettings(skipped=frozenset())

BODIES = {
    BEGIN: wal_script.begin(0x2000, 1_700_000_000_000_000, 9),
    COMMIT: wal_script.commit(0x2000, 0x2030, 1_700_000_000_000_000),
    ORIGIN: wal_script.origin(1, "node"),
    RELATION: wal_script.relation(R_ORDERS),
    TYPE: wal_script.type_message(16400, "public", "mood"),
    INSERT: wal_script.insert(ORDERS.oid, ["1", "a"]),
    UPDATE: wal_script.update(ORDERS.oid, ["1", "a"]),
    DELETE: wal_script.delete(ORDERS.oid, key=["1", None]),
    TRUNCATE: wal_script.truncate(ORDERS.oid),
    MESSAGE: wal_script.message("p", b"c", lsn=1, transactional=False),
}
# Tags of later protocol versions (stream start, stop, commit, abort, prepared transactions), and none at all.
LATER = {tag: bytes([tag]) + b"\0" * 40 for tag in b"SEcAbPKrp\0"}


@each_case(
    ("state", "tag"),
    [(state, tag) for state, tag in product(State, [*BODIES, *LATER]) if tag not in TRANSITIONS[state]],
    ids=lambda value: value.name if isinstance(value, State) else repr(chr(value)),
)
def test_a_message_out_of_turn_is_a_fault_of_the_protocol(state: State, tag: int) -> None:
    rig, wal = StreamRig(ORDERS), WalScript()
    wal.begin()
    wal.relation(R_ORDERS)
    if state is State.BETWEEN:
        wal.commit()
    rig.feed(wal.take())
    assert rig.stream.between is (state is State.BETWEEN)
    with pytest.raises(CdcError) as reported:
        rig.feed([wal_script.xlog_data(wal.lsn, {**BODIES, **LATER}[tag])])
    assert reported.value.kind is ErrorKind.PROTOCOL
    assert "slot.stream.params" in reported.value.remedy


@each_case(
    ("state", "tag"),
    [(state, tag) for state in State for tag in TRANSITIONS[state]],
    ids=lambda value: value.name if isinstance(value, State) else repr(chr(value)),
)
def test_a_message_in_turn_leads_where_the_table_says(state: State, tag: int) -> None:
    rig, wal = StreamRig(ORDERS), WalScript()
    wal.begin()
    wal.relation(R_ORDERS)
    if state is State.BETWEEN:
        wal.commit()
    rig.feed(wal.take())
    rig.feed([wal_script.xlog_data(wal.lsn, BODIES[tag])])
    assert rig.stream.between is (TRANSITIONS[state][tag] is State.BETWEEN)


def test_frame_of_unknown_kind() -> None:
    with pytest.raises(CdcError, match="0x7a") as reported:
        StreamRig().feed([b"z" + b"\0" * 40])
    assert reported.value.kind is ErrorKind.PROTOCOL


@pytest.mark.parametrize("body", [BODIES[INSERT], BODIES[UPDATE], BODIES[DELETE]], ids=["insert", "update", "delete"])
def test_change_of_a_relation_never_described(body: bytes) -> None:
    rig, wal = StreamRig(ORDERS), WalScript()
    wal.begin()
    with pytest.raises(CdcError, match="relation 5000") as reported:
        rig.feed([*wal.take(), wal_script.xlog_data(wal.lsn, body)])
    assert reported.value.kind is ErrorKind.PROTOCOL


def started(*, resume: Resume | None = None, last_commit: int | None = None) -> tuple[StreamRig, WalScript]:
    return StreamRig(ORDERS, OTHER, resume=resume, last_commit=last_commit, settings=ALL_OPERATIONS), WalScript()


def test_positions_of_a_transaction() -> None:
    rig, wal = started()
    assert (rig.stream.position, rig.stream.idle_position()) == (None, Position(0, None, "COMMIT", None, 0))
    wal.begin(42, commit_us=1_700_000_000_000_001)
    wal.relation(R_ORDERS)
    rig.feed(wal.take())
    # A transaction without a sent event has no position.
    assert rig.stream.position is None
    lsn = wal.insert(R_ORDERS, "1", None)
    rig.feed(wal.take())
    assert rig.stream.position == Position(lsn, None, "INSERT", 42, 1_700_000_000_000_001, 1)
    lsn = wal.update(R_ORDERS, "1", "x")
    rig.feed(wal.take())
    assert rig.stream.position == Position(lsn, None, "UPDATE", 42, 1_700_000_000_000_001, 1)
    end = wal.commit()
    rig.feed(wal.take())
    assert rig.stream.position == Position(end, end, "COMMIT", 42, 1_700_000_000_000_001)
    wal.begin(43)
    rig.feed(wal.take())
    assert rig.stream.position == Position(end, end, "COMMIT", 42, 1_700_000_000_000_001)
    lsn = wal.delete(R_ORDERS, key=("1", None))
    rig.feed(wal.take())
    assert rig.stream.position == Position(lsn, end, "DELETE", 43, 1_700_000_000_123_456, 1)


def test_changes_at_one_lsn_are_counted() -> None:
    rig, wal = started()
    wal.begin()
    wal.relation(R_ORDERS)
    wal.insert(R_ORDERS, "0", None, lsn=wal.lsn)
    lsn = wal.lsn
    for number in range(5):
        wal.insert(R_ORDERS, str(number), None, lsn=lsn)
    rig.feed(wal.take())
    assert rig.stream.position is not None
    assert (rig.stream.position.event, rig.stream.position.nth) == (lsn, 5)
    wal.insert(R_ORDERS, "9", None, lsn=lsn)
    rig.feed(wal.take())
    assert rig.stream.position.nth == 6


@pytest.mark.parametrize("after", ["nothing", "commit", "commit and keepalive"])
def test_position_stays_before_a_burst_that_failed(after: str) -> None:
    rig, wal = StreamRig(OTHER, settings=StreamSettings(conversion_failure="fail")), WalScript()
    wal.begin()
    wal.relation(R_OTHER)
    good = wal.insert(R_OTHER, "1", "1.00")
    rig.feed(wal.take())
    before = rig.stream.position
    assert before is not None
    assert before.event == good
    wal.insert(R_OTHER, "2", "NaN")
    if after != "nothing":
        wal.commit()
    if after == "commit and keepalive":
        wal.keepalive(wal.lsn + 5000)
    with pytest.raises(CdcError):
        rig.feed(wal.take())
    # Whoever keeps the slot may still look before the task ends: nothing after the failed value may be confirmed.
    assert (rig.stream.position, rig.stream.idle_position()) == (before, None)


def test_keepalives_move_what_was_received_and_nothing_else() -> None:
    rig, _ = started()
    assert rig.stream.feed([wal_script.keepalive(500), wal_script.keepalive(400)], NOW_NS) == Used(2, False)
    assert (rig.stream.received, rig.stream.position) == (500, None)
    assert rig.stream.feed([wal_script.keepalive(300, reply=True)], NOW_NS) == Used(1, True)
    assert rig.stream.received == 500


def test_idle_position_moves_only_between_transactions() -> None:
    rig, wal = started(last_commit=77)
    rig.feed([wal_script.keepalive(500)])
    assert rig.stream.idle_position() == Position(500, 77, "COMMIT", None, 0)
    wal.begin(9)
    wal.relation(R_ORDERS)
    lsn = wal.insert(R_ORDERS, "1", None)
    inside = wal.keepalive(lsn + 5000)
    rig.feed(wal.take())
    # Later changes of this transaction precede the keepalive.
    assert rig.stream.idle_position() is None
    assert rig.stream.received == inside
    end = wal.commit()
    rig.feed(wal.take())
    assert end > inside
    # Nothing newer than the commit is known.
    assert rig.stream.idle_position() is None
    later = wal.keepalive(end + 1000)
    rig.feed(wal.take())
    assert rig.stream.idle_position() == Position(later, end, "COMMIT", 9, 1_700_000_000_123_456)
    assert rig.stream.position == Position(end, end, "COMMIT", 9, 1_700_000_000_123_456)


def test_idle_position_waits_until_the_transaction_to_resume_in_is_there() -> None:
    rig, wal = started(resume=Resume(9, 0x1000_0000, 1))
    rig.feed([wal_script.keepalive(0x1100_0000)])
    assert rig.stream.idle_position() is None
    wal.begin(9)
    wal.commit()
    wal.keepalive(0x1200_0000)
    rig.feed(wal.take())
    assert rig.stream.idle_position() is not None


# One transaction: (LSN, statement) of each change. Three changes share an LSN, as after a COPY of many rows.
SCRIPT = [
    (10, "insert"),
    (20, "insert"),
    (20, "insert"),
    (20, "insert"),
    (30, "update"),
    (40, "delete"),
    (50, "truncate"),
    (55, "message"),
    (60, "insert"),
]
RECORDS: dict[str, list[str | None]] = {"insert": ["c"], "update": ["u"], "delete": ["d", None], "truncate": ["t"], "message": []}
BASE = 0x1000_0000


def transaction(wal: WalScript, xid: int, *, shift: int = 0) -> list[int]:
    """The script's frames; answers the LSN of each change."""
    wal.begin(xid)
    wal.relation(R_ORDERS)
    lsns = []
    for number, (offset, statement) in enumerate(SCRIPT):
        at = BASE + shift + offset
        if statement == "insert":
            wal.insert(R_ORDERS, str(number), None, lsn=at)
        elif statement == "update":
            wal.update(R_ORDERS, str(number), UNCHANGED, lsn=at)
        elif statement == "delete":
            wal.delete(R_ORDERS, key=(str(number), None), lsn=at)
        elif statement == "message":
            wal.frames.append(wal_script.xlog_data(at, wal_script.message("p", b"c", lsn=at, transactional=True)))
        else:
            wal.frames.append(wal_script.xlog_data(at, wal_script.truncate(R_ORDERS.oid)))
        lsns.append(at)
    wal.commit()
    return lsns


def ops_from(first: int) -> list[str | None]:
    return [op for _, statement in SCRIPT[first:] for op in RECORDS[statement]]


@each_case("sent", range(1, len(SCRIPT) + 1))
@each_case("burst", [1, 3, 100])
def test_resume_inside_a_transaction_sends_the_rest_and_no_more(sent: int, burst: int) -> None:
    # First run: stops after ``sent`` changes.
    wal = WalScript(BASE)
    transaction(wal, 7)
    frames = wal.take()
    first = StreamRig(ORDERS, settings=ALL_OPERATIONS, last_commit=BASE - 8)
    made = first.feed(frames[: 2 + sent])
    assert first.stream.position is not None
    offset = StoredOffset.parse(first.stream.position.to_offset())
    # Second run: the server sends the transaction again from its begin, whatever size its bursts have.
    second = StreamRig(ORDERS, settings=ALL_OPERATIONS, last_commit=offset.commit, resume=resume_point(offset))
    rest = []
    for at in range(0, len(frames), burst):
        rest += second.feed(frames[at : at + burst])
    assert [s.op for s in made] + [s.op for s in rest] == ops_from(0)
    assert [s.op for s in rest] == ops_from(sent)
    assert second.stream.position is not None
    assert not second.stream.position.inside
    # The next transaction is sent whole.
    transaction(wal, 8, shift=4096)
    assert [s.op for s in second.feed(wal.take())] == ops_from(0)


@pytest.mark.parametrize(
    ("txid", "passed_over"),
    [(7, True), (None, True), ((5 << 32) + 7, True), (8, False), ((7 << 32) + 1, False)],
    ids=["same", "unknown", "with an epoch", "another", "another with an epoch"],
)
def test_only_the_transaction_of_the_offset_is_skipped(txid: int | None, passed_over: bool) -> None:
    rig, wal = started(resume=Resume(txid, BASE + 20, 2))
    transaction(wal, 7)
    assert [s.op for s in rig.feed(wal.take())] == ops_from(3 if passed_over else 0)


def test_only_the_first_transaction_is_skipped() -> None:
    rig, wal = started(resume=Resume(7, BASE + 20, 1))
    wal.begin(6)
    wal.relation(R_ORDERS)
    wal.insert(R_ORDERS, "1", None, lsn=BASE)
    wal.commit()
    assert [s.op for s in rig.feed(wal.take())] == ["c"]
    transaction(wal, 7)
    assert [s.op for s in rig.feed(wal.take())] == ops_from(0)


def test_a_wholly_skipped_transaction_moves_the_position_to_its_end() -> None:
    rig, wal = started(resume=Resume(7, BASE + 60, 1))
    transaction(wal, 7)
    frames = wal.take()
    rig.feed(frames[:-1])
    # This run sends no event, so the position stays the stored one and is not reported again.
    assert rig.stream.position is None
    assert rig.feed(frames[-1:]) == []
    assert rig.stream.position == Position(wal.lsn, wal.lsn, "COMMIT", 7, 1_700_000_000_123_456)


def test_sequence_after_a_resume_is_the_one_of_the_first_run() -> None:
    wal = WalScript(BASE)
    transaction(wal, 7)
    frames = wal.take()
    whole = StreamRig(ORDERS, settings=ALL_OPERATIONS, last_commit=99).feed(frames, NOW_NS)
    resumed = StreamRig(ORDERS, settings=ALL_OPERATIONS, last_commit=99, resume=Resume(7, BASE + 20, 3)).feed(frames, NOW_NS)
    assert [s.value for s in resumed] == [s.value for s in whole[4:]]


STATEMENT = st.tuples(
    st.sampled_from(["insert", "update", "delete", "key change", "toast", "truncate", "relation", "commit", "keepalive"]),
    st.booleans(),
    st.integers(1, 3),
    st.booleans(),
)


@settings(deadline=None)
@given(st.lists(STATEMENT, max_size=25), st.lists(st.integers(1, 9), min_size=1), st.booleans(), st.integers(0, 24))
def test_the_size_of_bursts_changes_nothing(
    statements: list[tuple[str, bool, int, bool]], bursts: list[int], filtered: bool, failing: int
) -> None:
    """However the frames are cut into bursts, each topic gets the same records, and the same position is reached."""
    wal = WalScript(BASE)
    wal.begin()
    wal.relation(R_ORDERS)
    wal.relation(R_OTHER)
    for number, (statement, orders, key, same_lsn) in enumerate(statements):
        relation = R_ORDERS if orders else R_OTHER
        note = "note" if orders else "NaN" if number == failing else "1.50"
        new = (str(key), note if key > 1 else None)
        at = wal.lsn - WalScript.STEP if same_lsn and number else None
        if statement == "insert":
            wal.insert(relation, *new, lsn=at)
        elif statement == "update":
            wal.update(relation, *new, lsn=at)
        elif statement == "toast":
            wal.update(relation, str(key), UNCHANGED, lsn=at)
        elif statement == "key change":
            wal.update(relation, *new, key=("77", None), lsn=at)
        elif statement == "delete":
            wal.delete(relation, key=(str(key), None), lsn=at)
        elif statement == "truncate":
            wal.truncate(R_ORDERS, R_OTHER)
        elif statement == "relation":
            wal.relation(relation)
        elif statement == "commit":
            wal.commit()
            wal.begin()
        else:
            wal.keepalive()
    frames = wal.take()
    config = configured(table_include_list="public.orders") if filtered else configured()
    one_by_one = StreamRig(ORDERS, OTHER, settings=ALL_OPERATIONS, config=config)
    for frame in frames:
        one_by_one.feed([frame])
    cut = StreamRig(ORDERS, OTHER, settings=ALL_OPERATIONS, config=config)
    at = turn = 0
    while at < len(frames):
        size = bursts[turn % len(bursts)]
        cut.feed(frames[at : at + size])
        at, turn = at + size, turn + 1
    assert cut.sent == one_by_one.sent
    assert cut.stream.position == one_by_one.stream.position
    assert cut.stream.events == one_by_one.stream.events
    assert cut.stream.received == one_by_one.stream.received
    assert cut.stream.idle_position() == one_by_one.stream.idle_position()
    assert cut.failures.reported == one_by_one.failures.reported
