"""A stream that catches up with a snapshot sends every transaction of the snapshot, and none of them again afterwards."""

from __future__ import annotations

from connector.snapshot.catch_up import Boundary
from tests.support.wal_script import begin, commit, insert, keepalive, message, xlog_data

AT = 1000
US = 1_700_000_000_000_000


def transaction(commit_lsn: int) -> list[bytes]:
    parts = [begin(commit_lsn, US, 7), insert(9, ["1"]), commit(commit_lsn, commit_lsn + 48, US)]
    return [xlog_data(commit_lsn - 10, part) for part in parts]


def outside(end: int) -> bytes:
    return xlog_data(end, message("p", b"x", lsn=end, transactional=False))


def test_transactions_are_cut_where_their_commit_begins() -> None:
    held, next_one = transaction(AT - 1), transaction(AT)
    boundary = Boundary(AT)
    assert boundary.before([*held, *next_one, *transaction(AT + 500)]) == held
    assert boundary.reached
    assert boundary.before(held) == []


def test_frames_come_in_any_pieces() -> None:
    frames = [*transaction(500), keepalive(700), *transaction(AT - 1), *transaction(AT)]
    for size in range(1, len(frames) + 1):
        boundary = Boundary(AT)
        got: list[bytes] = []
        for first in range(0, len(frames), size):
            got += boundary.before(frames[first : first + size])
        assert got == frames[:-3]
        assert boundary.reached


def test_a_silent_database_ends_with_a_keepalive() -> None:
    boundary = Boundary(AT)
    assert boundary.before([keepalive(AT - 1)]) == [keepalive(AT - 1)]
    assert not boundary.reached
    assert boundary.before([keepalive(AT)]) == []
    assert boundary.reached


def test_a_keepalive_inside_a_transaction_says_nothing() -> None:
    first, *rest = transaction(AT - 1)
    frames = [first, keepalive(AT + 5000), *rest]
    boundary = Boundary(AT)
    assert boundary.before(frames) == frames
    assert not boundary.reached


def test_messages_outside_of_transactions_are_cut_where_they_end() -> None:
    boundary = Boundary(AT)
    assert boundary.before([outside(AT), outside(AT + 1)]) == [outside(AT)]
    assert boundary.reached


def test_a_message_inside_a_transaction_is_its_transactions() -> None:
    first, *rest = transaction(AT - 1)
    inside = xlog_data(AT - 20, message("p", b"x", lsn=AT + 1, transactional=True))
    boundary = Boundary(AT)
    assert boundary.before([first, inside, *rest]) == [first, inside, *rest]
