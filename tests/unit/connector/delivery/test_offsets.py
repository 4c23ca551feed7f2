from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.delivery.offsets import Position, Resume, StoredOffset, partition, resume_point, snapshot_offset
from connector.wire.lsn import format_lsn, parse_lsn
from tests.support.each_case import each_case

# As GET /connectors/{name}/offsets of Debezium 3.6.3 showed them.
AFTER_SNAPSHOT: dict[str, Any] = {
    "last_snapshot_record": True,
    "lsn": 22176496,
    "txId": 726,
    "ts_usec": 1795242511502549,
    "snapshot": "INITIAL",
    "snapshot_completed": True,
}
STREAMING: dict[str, Any] = {
    "lsn_proc": 571606256,
    "messageType": "INSERT",
    "lsn_commit": 571606256,
    "lsn": 571606256,
    "txId": 9457,
    "ts_usec": 1795254354048010,
}


def test_partition() -> None:
    assert partition("srv") == {"server": "srv"}


def test_offset_of_a_finished_snapshot_made_by_debezium() -> None:
    offset = StoredOffset.parse(AFTER_SNAPSHOT)
    assert (offset.snapshot_running, offset.inside, offset.start, offset.txid) == (False, False, 22176496, 726)
    assert resume_point(offset) is None


def test_offset_of_streaming_made_by_debezium() -> None:
    offset = StoredOffset.parse(STREAMING)
    assert (offset.inside, offset.start, offset.snapshot_running) == (True, 571606256, False)
    # The event that was sent is the first change of its transaction, which begins where the one before ended.
    assert resume_point(offset) == Resume(9457, 571606256, 1)


CASES: list[tuple[str, dict[str, Any], bool, bool, int, Resume | None]] = [
    # name, offset, snapshot running, inside, start, resume
    ("empty", {}, False, False, 0, None),
    ("only lsn, as edited by hand", {"lsn": 77}, False, False, 77, None),
    ("start without a snapshot", {"lsn": 77, "txId": 3, "ts_usec": 1}, False, False, 77, None),
    ("between transactions", {"lsn": 90, "lsn_commit": 80, "lsn_proc": 90, "messageType": "COMMIT", "txId": 3}, False, False, 90, None),
    ("commit ahead of lsn", {"lsn": 70, "lsn_commit": 80, "messageType": "COMMIT"}, False, False, 80, None),
    ("at a begin", {"lsn": 90, "lsn_commit": 80, "messageType": "BEGIN", "txId": 3}, False, False, 90, None),
    ("in the first transaction seen", {"lsn": 90, "lsn_proc": 90, "messageType": "UPDATE", "txId": 3}, False, True, 0, Resume(3, 90, 1)),
    ("in a transaction", {"lsn": 90, "lsn_commit": 80, "messageType": "DELETE", "txId": 3}, False, True, 80, Resume(3, 90, 1)),
    (
        "several changes at one LSN",
        {"lsn": 90, "lsn_commit": 80, "messageType": "INSERT", "txId": 3, "lsn_events_processed": 4},
        False,
        True,
        80,
        Resume(3, 90, 4),
    ),
    ("after a truncate without txId", {"lsn": 90, "lsn_commit": 80, "messageType": "TRUNCATE"}, False, True, 80, Resume(None, 90, 1)),
    ("snapshot running", {**AFTER_SNAPSHOT, "snapshot_completed": False, "last_snapshot_record": False}, True, False, 22176496, None),
    ("snapshot running, in 2.3.4's words", {"snapshot": True, "last_snapshot_record": False, "lsn": 5}, True, False, 5, None),
    ("snapshot ended, in 2.3.4's words", {"snapshot": "true", "last_snapshot_record": True, "lsn": 5}, False, False, 5, None),
    ("snapshot false is none", {"snapshot": False, "lsn": 5}, False, False, 5, None),
    ("snapshot as the word false is none", {"snapshot": "false", "lsn": 5}, False, False, 5, None),
    ("an event during a snapshot", {"snapshot": "INITIAL", "lsn": 5, "messageType": "INSERT"}, True, False, 5, None),
    (
        "an event of an incremental snapshot, which 3.6.3 stores with the place in the stream",
        {**STREAMING, "last_snapshot_record": False, "snapshot": "INCREMENTAL", "snapshot_completed": False},
        False,
        True,
        571606256,
        Resume(9457, 571606256, 1),
    ),
    ("numbers as texts count as absent", {"lsn": "90", "lsn_commit": "80", "messageType": "INSERT"}, False, False, 0, None),
    ("booleans are no numbers", {"lsn": True, "lsn_commit": False}, False, False, 0, None),
    ("a kind that is no text", {"lsn": 9, "messageType": 5}, False, False, 9, None),
    ("completed as a text is not completed", {"snapshot": "INITIAL", "snapshot_completed": "true", "lsn": 5}, True, False, 5, None),
    ("zero processed counts as one", {"lsn": 9, "messageType": "INSERT", "lsn_events_processed": 0}, False, True, 0, Resume(None, 9, 1)),
    ("unknown keys are ignored", {"lsn": 9, "transaction_id": "5", "incremental_snapshot_primary_key": "ac"}, False, False, 9, None),
]


@each_case(("stored", "running", "inside", "start", "resume"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_stored_offsets(stored: dict[str, Any], running: bool, inside: bool, start: int, resume: Resume | None) -> None:
    offset = StoredOffset.parse(stored)
    assert (offset.snapshot_running, offset.inside, offset.start, resume_point(offset)) == (running, inside, start, resume)


def test_no_offset_resumes_nothing() -> None:
    assert resume_point(None) is None


def test_our_offset_has_the_words_and_the_order_of_debezium() -> None:
    position = Position(571606256, 571606256, "INSERT", 9457, 1795254354048010)
    assert json.dumps(position.to_offset()) == json.dumps(STREAMING)
    assert json.dumps(snapshot_offset(22176496, 726, 1795242511502549, completed=True)) == json.dumps(AFTER_SNAPSHOT)


@pytest.mark.parametrize("completed", [False, True])
@pytest.mark.parametrize("txid", [None, 5])
def test_snapshot_offset_round_trip(completed: bool, txid: int | None) -> None:
    offset = StoredOffset.parse(json.loads(json.dumps(snapshot_offset(9, txid, 8, completed=completed))))
    assert (offset.lsn, offset.txid, offset.ts_us, offset.snapshot_running, offset.start) == (9, txid, 8, not completed, 9)


def test_what_is_stored_of_a_snapshot_is_no_position() -> None:
    assert StoredOffset.parse(snapshot_offset(9, None, 8, completed=True)).position is None
    assert StoredOffset.parse({}).position is None


def test_confirmable_never_passes_the_transaction_that_is_half_sent() -> None:
    assert Position(90, 80, "INSERT", 3).confirmable == 80
    assert Position(90, None, "INSERT", 3).confirmable == 0
    assert Position(90, 80).confirmable == 90
    assert (Position(90, 80, "UPDATE").inside, Position(90, 80).inside) == (True, False)


@settings(deadline=None)
@given(
    st.builds(
        Position,
        st.integers(1, 2**63 - 1),
        st.none() | st.integers(1, 2**63 - 1),
        st.sampled_from(["COMMIT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "MESSAGE"]),
        st.none() | st.integers(0, 2**32 - 1),
        st.integers(0, 2**53),
        st.integers(1, 5000),
        # Between transactions the server has come to the last one's end at least.
    ).map(lambda position: position if position.inside else replace(position, event=max(position.event, position.commit or 0))),
    st.integers(0, 2**63 - 1),
)
def test_a_position_survives_the_offset_topic(position: Position, passed: int) -> None:
    offset = StoredOffset.parse(json.loads(json.dumps(position.at_least(passed).to_offset())))
    assert offset.start == max(position.confirmable, passed) == position.at_least(passed).confirmable
    assert offset.position is not None
    assert offset.position.to_offset() == position.at_least(passed).to_offset()
    offset = StoredOffset.parse(json.loads(json.dumps(position.to_offset())))
    assert (offset.lsn, offset.commit, offset.txid) == (position.event, position.commit, position.txid)
    assert (offset.kind, offset.ts_us, offset.inside) == (position.kind, position.ts_us, position.inside)
    if position.inside:
        assert resume_point(offset) == Resume(position.txid, position.event, position.nth)
        # From the confirmed position the server must still send the transaction that contains the offset.
        assert offset.start == position.confirmable
    else:
        assert resume_point(offset) is None
        assert offset.start >= position.confirmable


@pytest.mark.parametrize(
    ("text", "lsn"), [("0/0", 0), ("16/B374D848", 0x16_B374_D848), ("FFFFFFFF/FFFFFFFF", 2**64 - 1), ("0/2211FFD8", 571604952)]
)
def test_lsn_text(text: str, lsn: int) -> None:
    assert parse_lsn(text) == lsn
    assert parse_lsn(format_lsn(lsn)) == lsn


@pytest.mark.parametrize("text", ["", "16", "16B374D848", "x/y", "1/"])
def test_invalid_lsns_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_lsn(text)
