"""The random workload and the reference consumer, without Spark: the consumer finds all changes, also after kills."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector
from tests.support.spark.kill_rig import KillRig, offered
from tests.support.spark.reference import Topic, Typed, differences
from tests.support.spark.workload import Workload
from tests.support.spark.workload_player import Player
from tests.support.spark.workload_tables import SHAPES
from tests.support.spark.workload_values import KINDS
from tests.support.topics import Raw

SEED = 20_261_122
ID = Typed(("id",), "int4", -1, None)
NAME = Typed(("name",), "text", -1, None)
LATER = Typed(("later", "sooner"), "text", -1, "default")


def test_a_seed_decides_everything() -> None:
    def steps(seed: int) -> list[object]:
        workload = Workload(seed)
        return [workload.schema, workload.initial(5), *workload.units(500), workload.closing()]

    assert steps(1) == steps(1)
    assert steps(1) != steps(2)


def test_twenty_tables_hold_every_kind() -> None:
    assert len(SHAPES) == 20
    assert {column.kind for shape in SHAPES for column in shape.columns} >= KINDS.keys() - {"numeric(14,2)", "numeric(18,6)"}
    assert {shape.identity for shape in SHAPES} == {"default", "full", "index"}


@pytest.mark.parametrize(
    "word", ["COPY", "MERGE", "TRUNCATE", "CASCADE", "RESTART", "ADD COLUMN", "DROP COLUMN", "RENAME", "TYPE", "ROLLBACK TO"]
)
def test_a_small_workload_has_all_of_it(word: str) -> None:
    assert any(word in step.sql for unit in Workload(SEED).units(3000) for step in unit.steps)


async def test_a_server_holds_the_rows_that_the_workload_believes_in(pg: PgServer) -> None:
    database = pg.database("workload")
    workload = Workload(SEED, offered(pg, database))
    player = Player(database.dsn, workload, rows=20)
    player.start(2000)
    player.finish()
    with psycopg.connect(database.dsn) as connection:
        for table in workload.tables:
            names = [column.name for column in connection.execute(f"SELECT * FROM {table.name} LIMIT 0".encode()).description or ()]
            own = [name for name, _, _ in table.shape.key] + [column.name for column in table.columns]
            assert names[: len(own)] == own
            if table.keyed:
                assert connection.execute(f"SELECT count(*) FROM {table.name}".encode()).fetchone() == (len(table.live),)


@pytest.mark.pg_once
@pytest.mark.long
async def test_topics_have_every_row_when_the_worker_was_killed(pg: PgServer, worker: Callable[..., Worker], tmp_path: Path) -> None:
    connector = Connector(worker(), pg.database("workload_kill"), "workload_kill")
    rig = KillRig(pg, connector, tmp_path, seed=SEED, changes=3000, sinks=[], batch_records=1)
    rig.run(kills=2, rows=20)
    assert await rig.topic_faults() == []


# --- the reference consumer notices


def record(
    lsn: int, op: str, key: int, row: dict[str, object] | None, *, run: str = "1", former: int | None = None, offset: int = 0
) -> Raw:
    columns = [{"field": "id", "type": "int32", "optional": False}]
    columns += [{"field": name, "type": "string", "optional": True} for name in row or () if name != "id"]
    schema = {"fields": [{"field": "after", "fields": columns}]}
    payload = {"before": None, "after": row, "source": {"lsn": lsn}, "op": op}
    headers = [("__debezium.context.runId", run.encode())]
    if former is not None:
        headers.append(("__debezium.oldkey", json.dumps({"id": former}).encode()))
    value = json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()
    return Raw(0, offset, json.dumps({"schema": {}, "payload": {"id": key}}).encode(), value, tuple(headers))


def change(lsn: int, op: str, key: int, name: str | None, **more: object) -> Raw:
    return record(lsn, op, key, None if op in "dt" else {"id": key, "name": name}, **more)  # type: ignore[arg-type]


def test_repeats_count_once_and_the_last_change_wins() -> None:
    one, two, gone = change(1, "c", 1, "a"), change(2, "u", 1, "b"), change(3, "d", 2, None)
    topic = Topic([change(1, "c", 2, "x"), one, two, gone, one, two, gone])
    assert topic.rows([ID, NAME]) == Counter([("1", "b")])
    assert (topic.faults, topic.repeats) == ([], 3)


def test_a_topic_that_ends_with_an_old_record_is_faulty() -> None:
    one, two = change(1, "c", 1, "a"), change(2, "u", 1, "b")
    assert len(Topic([one, two, one]).faults) == 1


def test_a_repeat_with_other_contents_is_faulty() -> None:
    assert len(Topic([change(1, "c", 1, "a"), change(1, "c", 1, "b")]).faults) == 1


def test_an_unsent_value_goes_with_its_row_through_keys() -> None:
    unsent = "__debezium_unavailable_value"
    moves = [
        change(1, "c", 1, "large"),
        change(2, "d", 1, None),
        change(2, "c", 2, unsent, former=1),
        change(3, "d", 2, None),
        change(3, "c", 3, unsent, former=2),
        change(4, "c", 1, "another"),
    ]
    for records in (moves, moves + moves[1:], sorted(moves, key=lambda raw: raw.key or b"")):
        topic = Topic(records)
        assert topic.rows([ID, NAME]) == Counter([("3", "large"), ("1", "another")])
        assert topic.faults == []
    alone = Topic([change(1, "c", 1, unsent)])
    assert alone.rows([ID, NAME]) == Counter([("1", None)])
    assert len(alone.faults) == 1


def test_a_truncate_ends_what_was_before_it_in_all_partitions() -> None:
    topic = Topic([change(5, "c", 1, "new"), change(2, "c", 2, "old"), record(3, "t", 0, None)])
    assert topic.rows([ID, NAME]) == Counter([("1", "new")])


def test_a_column_is_known_by_its_former_names_and_has_its_default_before_it_came() -> None:
    topic = Topic([change(1, "c", 1, "x"), record(2, "c", 2, {"id": 2, "sooner": None}), record(3, "c", 3, {"id": 3, "later": "v"})])
    assert topic.rows([ID, LATER]) == Counter([("1", "default"), ("2", None), ("3", "v")])


def test_rows_without_a_key_count_as_often_as_one_run_sent_them() -> None:
    def reported(lsn: int, run: str) -> Raw:
        raw = change(lsn, "c", 1, "twin", run=run)
        return Raw(raw.partition, raw.offset, None, raw.value, raw.headers)

    topic = Topic([reported(1, "1"), reported(1, "1"), reported(2, "1"), reported(1, "2"), reported(2, "2")])
    assert topic.rows([ID, NAME]) == Counter({("1", "twin"): 3})


def test_a_lost_row_is_a_difference() -> None:
    assert differences([ID, NAME], Counter([("1", "a")]), Counter([("1", "a"), ("2", None)])) == ["source only, '2': id int4 '2'"]
    assert differences([ID, NAME], Counter([("1", "a")]), Counter([("1", "b")])) == [
        "topic only, '1': name text 'a'",
        "source only, '1': name text 'b'",
    ]
