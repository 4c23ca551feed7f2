"""Whether the source's WAL ends before what a mirror has applied."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.jobs.checkpoint import State
from workers.spark.jobs.wal_position import fallen_back, position_of
from workers.spark.topics.known import Known, TopicState, Truncate

LAYOUT = Known(1, 1, "{}", "{}", (5, 0x1_0000_0020))


@pytest.mark.parametrize(
    "state",
    [
        State({"t": TopicState(layouts=(LAYOUT,))}),
        State({"t": TopicState(truncates=(Truncate(0, 3, 0x1_0000_0020, 5),))}),
        State(applied=0x1_0000_0020),
    ],
    ids=["layout", "truncate", "transaction"],
)
def test_source_whose_wal_ends_before_an_applied_change_is_reported(state: State) -> None:
    said = fallen_back(state, 0x1_0000_0018)
    assert said is not None
    assert "ends at 1/18, but the tables have changes up to 1/20" in said
    assert fallen_back(state, 0x1_0000_0020) is None
    assert fallen_back(state, None) is None


def test_new_checkpoint_knows_no_position() -> None:
    assert fallen_back(State(), 0) is None


def test_source_that_does_not_answer_has_no_position() -> None:
    assert position_of("host=127.0.0.1 port=1 connect_timeout=1") is None
