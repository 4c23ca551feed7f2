"""The counts of Kafka Connect 4.3.0 with Debezium 3.6.3 under JMX exporter 1.0.1, and ours, after ``tests/support/counted_workload.py``.

Both files were recorded on 2026-11-25 from one PostgreSQL and one Kafka, and hold what ``tests.support.compare_counts --keep`` wrote.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.compare_counts import EqualCounts, main

HERE: Final = Path(__file__).parent
THEIRS: Final = HERE / "counts_debezium.txt"
OURS: Final = HERE / "counts_understudy.txt"


def test_the_recorded_counts_are_equal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(THEIRS), str(OURS)]) == 0
    assert capsys.readouterr().out == "198 series are equal\n"


def test_a_recording_has_every_listed_series() -> None:
    counts = EqualCounts.load()
    # Truncates are skipped by default, and Debezium has a series only for a table that had one.
    assert counts.series - {name for name, _ in counts.of(THEIRS.read_text())} == {"debezium_metrics_NumberOfTruncateEventsSeen"}


def test_differences_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = tmp_path / "ours.txt"
    first, *rest = OURS.read_text().splitlines(keepends=True)
    changed.write_text("".join(rest).replace('EventsSeen{context="streaming",name="whole",plugin="postgres",team="x"} 130.0', "gone 1"))
    assert main([str(THEIRS), str(changed)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"{first.rsplit(maxsplit=1)[0]} {first.split()[-1]} None",
        'debezium_metrics_TotalNumberOfEventsSeen{context="streaming",name="whole",plugin="postgres",team="x"} 130.0 None',
    ]


def test_other_labels_need_not_be_equal() -> None:
    counts = EqualCounts.load()
    assert counts.holds("kafka_producer_record_send", {"clientId": "connector-producer-whole-0"})
    assert not counts.holds("kafka_producer_record_send", {"clientId": "cluster-configs"})
    assert not counts.holds("kafka_connect_source_task_source_record_poll", {"connector": "failing", "task": "0"})
    assert not counts.holds("kafka_connect_worker_rebalance_epoch", {})
