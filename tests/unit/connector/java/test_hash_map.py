from __future__ import annotations

import pytest

from connector.java.hash_map import grown, java_hash, java_order, of_copy


@pytest.mark.parametrize(
    ("text", "code"),
    # As String.hashCode gives them; the last one is beyond U+FFFF: two units.
    [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", 0x80000000), ("\u00fc", 252), ("\U0001f600", 0xD83D * 31 + 0xDE00)],
)
def test_hash(text: str, code: int) -> None:
    assert java_hash(text) == code


@pytest.mark.parametrize(("capacity", "size", "wanted"), [(16, 0, 16), (16, 12, 16), (16, 13, 32), (16, 25, 64), (64, 1, 64)])
def test_table_grows_when_three_quarters_full_and_never_shrinks(capacity: int, size: int, wanted: int) -> None:
    assert grown(capacity, size) == wanted


@pytest.mark.parametrize(("size", "wanted"), [(1, 2), (11, 16), (12, 32), (23, 32), (24, 64)])
def test_the_table_of_a_copy_has_room_for_one_more(size: int, wanted: int) -> None:
    assert of_copy(size) == wanted


@pytest.mark.parametrize(
    "recorded",
    [
        (
            "transaction_id lsn_proc messageType transaction_data_collection_order_public.a lsn_commit"
            " transaction_data_collection_order_public.b lsn txId ts_usec"
        ),
        "lsn_proc xmin messageType lsn_commit lsn txId ts_usec",
        "last_snapshot_record lsn txId ts_usec snapshot snapshot_completed",
    ],
)
def test_members_of_recorded_offsets(recorded: str) -> None:
    listed = recorded.split()
    assert java_order(sorted(listed)) == listed


def test_keys_of_one_bucket_stay_in_the_order_they_came() -> None:
    # "Aa" and "BB" have one hash.
    assert java_order(["BB", "Aa"]) == ["BB", "Aa"]
    assert java_order(["Aa", "BB"]) == ["Aa", "BB"]


def test_a_larger_table_is_another_order() -> None:
    # Hashes 97 and 112: buckets 1 and 0 of 16, 1 and 16 of 32.
    assert java_order(["a", "p"]) == ["p", "a"]
    assert java_order(["a", "p"], 32) == ["a", "p"]
