"""What the stream counts (:mod:`connector.meters.stream_meter`)."""

from __future__ import annotations

from connector.events.stream_settings import StreamSettings
from connector.types.codec import Column
from tests.support.stream_rig import INT4, NOW_NS, TEXT, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import WalScript

ID = Column("id", INT4, not_null=True)
V = Column("v", TEXT)
A = catalog_table("a", ID, V, primary_key=["id"])
R = relation_of(A)
NOW_MS = NOW_NS // 1_000_000


def shown(rig: StreamRig, table: str = "public.a") -> tuple[int, int, int, int]:
    counts = rig.meter.counts(table)
    return counts.creates, counts.updates, counts.deletes, counts.truncates


def test_runs_of_inserts_and_updates_are_counted_by_operation() -> None:
    rig, wal = StreamRig(A), WalScript()
    wal.begin(7, commit_us=(NOW_MS - 40) * 1000)
    wal.relation(R)
    for number in range(3):
        wal.insert(R, str(number), "x")
    wal.update(R, "1", "y")
    wal.update(R, "2", "y")
    last = wal.delete(R, key=["1", None])
    wal.commit()
    rig.feed(wal.take())
    assert shown(rig) == (3, 2, 1, 0)
    meter = rig.meter
    assert (meter.transactions, meter.last_txid, meter.last_lsn, meter.last_event_ms, meter.lag.last) == (1, 7, last, NOW_MS, 40)


def test_a_changed_key_counts_as_delete_and_create() -> None:
    rig, wal = StreamRig(A), WalScript()
    wal.begin(7)
    wal.relation(R)
    wal.update(R, "2", "x", key=["1", None])
    wal.commit()
    rig.feed(wal.take())
    assert shown(rig) == (1, 0, 1, 0)


def test_skipped_operations_are_not_counted_and_make_no_transaction() -> None:
    rig, wal = StreamRig(A, settings=StreamSettings(skipped=frozenset("ct"))), WalScript()
    wal.begin(7)
    wal.relation(R)
    wal.insert(R, "1", "x")
    wal.commit()
    rig.feed(wal.take())
    assert shown(rig) == (0, 0, 0, 0)
    assert (rig.meter.transactions, rig.meter.last_txid) == (0, None)


def test_counts_continue_when_the_structure_changes() -> None:
    rig, wal = StreamRig(A), WalScript()
    for _ in range(2):
        wal.begin(7)
        wal.relation(R)
        wal.insert(R, "1", "x")
        wal.commit()
    rig.feed(wal.take())
    assert shown(rig) == (2, 0, 0, 0)
    assert rig.meter.transactions == 2


def test_a_run_with_an_event_that_is_left_out_is_counted_row_by_row() -> None:
    # A NaN cannot be the key of an event.
    keyed = catalog_table("keyed", Column("n", 1700, 655366, not_null=True), V, primary_key=["n"])
    relation = relation_of(keyed)
    rig, wal = StreamRig(keyed, settings=StreamSettings(processing_failure="skip")), WalScript()
    wal.begin(7)
    wal.relation(relation)
    for number in ("1.00", "NaN", "2.00"):
        wal.insert(relation, number, "x")
    wal.update(relation, "1.00", "y")
    wal.commit()
    rig.feed(wal.take())
    assert shown(rig, "public.keyed") == (2, 1, 0, 0)
    assert rig.meter.erroneous == 1


def seen_in(rig: StreamRig, wal: WalScript) -> bool:
    """Whether the burst has an event for the time of the last event."""
    rig.meter.last_event_ms = None
    rig.feed(wal.take())
    return rig.meter.last_event_ms == NOW_MS


def test_each_burst_with_an_event_sets_the_time_of_the_last_event() -> None:
    secret = catalog_table("secret", ID, oid=7000, primary_key=["id"])
    rig, wal = (
        StreamRig(A, secret, config=configured(table_include_list="public.a"), settings=StreamSettings(skipped=frozenset())),
        WalScript(),
    )
    wal.begin(7)
    wal.relation(R)
    assert not seen_in(rig, wal)
    wal.insert(R, "1", "x")
    assert seen_in(rig, wal), "within a transaction"
    wal.commit()
    assert not seen_in(rig, wal)
    wal.begin(8)
    wal.relation(relation_of(secret))
    wal.insert(relation_of(secret), "1")
    assert seen_in(rig, wal), "a filtered event"
    wal.truncate(R)
    assert seen_in(rig, wal)
    wal.commit()
    wal.keepalive(0)
    assert not seen_in(rig, wal)


def test_an_event_that_is_left_out_sets_the_time_and_a_message_does_not() -> None:
    keyed = catalog_table("keyed", Column("n", 1700, 655366, not_null=True), V, primary_key=["n"])
    rig, wal = StreamRig(keyed, settings=StreamSettings(processing_failure="skip"), messages=True), WalScript()
    wal.begin(7)
    wal.relation(relation_of(keyed))
    wal.insert(relation_of(keyed), "NaN", "x")
    assert seen_in(rig, wal)
    wal.message("p", b"x")
    assert not seen_in(rig, wal)
    assert rig.stream.events == 1
