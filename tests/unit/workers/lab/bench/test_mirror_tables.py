"""The batches that a mirror's output names."""

from __future__ import annotations

from workers.lab.bench.mirror_tables import Batch, batches_of

LOG = """The topic shop.a is set aside
batch 0: 1,050,000 records of 1 tables in 12.3 s (1,234/s), newest record 0.4 s old
behind by 300 records
batch 7: 3 records of 100 tables in 0.5 s (6/s), 2 passed over
batch 8: half a li"""


def test_batches_are_read_from_whole_lines_about_batches() -> None:
    assert batches_of(LOG) == [Batch(1_050_000, 1, 12.3), Batch(3, 100, 0.5)]
