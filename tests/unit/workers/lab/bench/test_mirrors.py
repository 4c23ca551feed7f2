"""The batches that a mirror's output names, the lag that follows from them, and the parts of a load that is replayed."""

from __future__ import annotations

from workers.lab.bench.mirror.lag import Applied, lags
from workers.lab.bench.mirror.many_tables import Batch, batches_of
from workers.lab.bench.mirror.replay import Record, parts

LOG = """The topic shop.a is set aside
batch 0: 1,050,000 records of 1 tables in 12.3 s (1,234/s), newest record 0.4 s old
behind by 300 records
batch 7: 3 records of 100 tables in 0.5 s (6/s), 2 passed over
batch 8: half a li"""


def test_batches_are_read_from_whole_lines_about_batches() -> None:
    assert batches_of(LOG) == [Batch(1_050_000, 1, 12.3), Batch(3, 100, 0.5)]


def test_lag_is_the_age_of_the_newest_change_immediately_before_a_batch_ends() -> None:
    # The second batch ends 3 s after the first one, whose newest change was 2 s old then.
    batches = [Applied(100.0, 10, 2.0), Applied(103.0, 20, 1.5), Applied(104.0, 5, 0.25)]
    assert lags(batches, 97.0) == [5.0, 2.5]
    assert lags(batches, 99.0) == [4.0, 2.5], "before the load the tables had all changes"
    assert lags([Applied(100.0, 10, 2.0)], 0.0) == []


def test_records_are_cut_into_the_parts_of_the_ticks() -> None:
    records = [Record(b"%d" % number, None, []) for number in range(6)]
    assert [[int(record.key or b"") for record in part] for part in parts(records, [2, 0, 3, 3, 1])] == [[0, 1], [], [2, 3, 4], [5], []]
