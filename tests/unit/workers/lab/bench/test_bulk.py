"""The options of the benchmark of snapshots."""

from __future__ import annotations

import pytest

from workers.lab.bench.bulk import options

PLACE = ["--dsn", "host=here", "--bootstrap", "here:9092"]


def test_ways_are_read() -> None:
    chosen = options(["--ways", "own-2,debezium-1,spark,cluster-3", "--debezium", "http://here:8083", *PLACE])
    assert chosen.ways == ["own-2", "debezium-1", "spark", "cluster-3"]
    assert options([]).ways == ["own-1", "own-2", "spark"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ways", "own"], "'own' is not one of spark, own-N, debezium-N, cluster-N"),
        (["--ways", "spark,own-0"], "'own-0' is not one of"),
        (["--dsn", "host=here"], "--dsn and --bootstrap go together"),
        (["--ways", "debezium-1", *PLACE], "the way debezium needs --debezium"),
        (["--ways", "debezium-1", "--debezium", "http://here:8083"], "the way debezium needs --debezium, and --dsn and --bootstrap"),
    ],
)
def test_contradictory_options_are_reported(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        options(words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
