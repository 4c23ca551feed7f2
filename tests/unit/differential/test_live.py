from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from unittest.mock import patch

import pytest

from connector.config.validation import error_lines, validate
from tests.differential.live.alterations import alter
from tests.differential.live.changes import change, transaction
from tests.differential.live.comparison import Record, Rules, compare
from tests.differential.live.configuration import draw_configuration
from tests.differential.live.kinds import KINDS
from tests.differential.live.outbox_run import draw_outbox
from tests.differential.live.run import Place, Run
from tests.differential.live.shapes import add_special, add_table
from tests.differential.live.side import Side
from tests.differential.live.world import World

TAGS = ("fuzzr1", "fuzzo1")


class AnyStatement:
    """Takes every statement."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def execute(self, sql: str) -> bool:
        self.statements.append(sql)
        return True


def made(seed: int) -> list[str]:
    database = AnyStatement()
    world = World(Random(seed), database, KINDS)
    add_table(world)
    add_special(world)
    world.snapshot = False
    for _ in range(20):
        while not world.tables:
            add_table(world)
        alter(world)
        if world.tables:
            change(world)
            transaction(world, altering=True)
    return database.statements


def event(tag: str, *, key: object = 1, text: str | None = None, processed: int = 1, **source: object) -> Record:
    where = {"name": tag, "snapshot": "false", "lsn": 5, "txId": 7, "ts_ms": 100, "sequence": '["4","5"]'} | source
    row = {"before": None, "after": {"id": key}, "source": where, "op": "c", "ts_ms": processed}
    value = json.dumps(row, separators=(",", ":"))
    return Record(f"{tag}.public.t", 0, json.dumps({"id": key}).encode(), (text or value).encode())


def differences(real: list[Record], own: list[Record], rules: Rules | None = None) -> list[str]:
    return compare(real, own, TAGS, rules or Rules())


def test_the_same_seed_makes_the_same_statements_and_another_seed_others() -> None:
    assert made(3) == made(3)
    assert made(3) != made(4)


def test_the_same_seed_draws_the_same_configuration() -> None:
    drawn = [draw_configuration(Random(5), ["public.t1"], transforms=1) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != draw_configuration(Random(6), ["public.t1"], transforms=1)


def test_names_and_times_of_processing_may_differ() -> None:
    assert differences([event("fuzzr1", processed=1)], [event("fuzzo1", processed=2)]) == []


def test_a_value_a_position_a_count_and_an_order_that_differ_are_found() -> None:
    same = event("fuzzr1", key=2)
    for own in (event("fuzzo1", key="1"), event("fuzzo1", lsn=6), event("fuzzo1", ts_ms=101), event("fuzzo1", sequence='["3","5"]')):
        assert differences([event("fuzzr1")], [own]) != []
    assert "real 1 records" in differences([same], [])[0]
    assert differences([event("fuzzr1"), same], [event("fuzzo1", key=2), event("fuzzo1")]) != []


def test_only_the_values_in_the_keys_of_a_snapshot_may_differ_where_a_filter_leaves_out_columns() -> None:
    def read(tag: str, key: str, row: str = '{"a":1}') -> Record:
        return Record(f"{tag}.t", 0, key.encode(), f'{{"after":{row},"op":"r","source":{{"snapshot":"true"}}}}'.encode())

    rules = replace(Rules(), read_keys=False)
    assert differences([read("fuzzr1", '{"id":0}')], [read("fuzzo1", '{"id":7}')], rules) == []
    assert differences([read("fuzzr1", '{"id":0}')], [read("fuzzo1", '{"id":7}')]) != []
    assert differences([read("fuzzr1", '{"id":0}')], [read("fuzzo1", '{"no":7}')], rules) != []
    assert differences([read("fuzzr1", '{"id":7}', '{"a":"é"}')], [read("fuzzo1", '{"id":7}', '{"a":"\\u00e9"}')], rules) != []


def test_a_header_of_a_position_is_null_on_both_sides_or_on_none() -> None:
    one, other = event("fuzzr1"), event("fuzzo1")
    left = replace(one, headers=(("__lsn", b"5"),))
    assert differences([left], [replace(other, headers=(("__lsn", b"6"),))]) == []
    assert differences([left], [replace(other, headers=(("__lsn", None),))]) != []


def test_every_drawn_configuration_is_valid() -> None:
    base = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "PREFIX"}
    required = {"name": "n", "connector.class": "io.debezium.connector.postgresql.PostgresConnector"} | base
    for seed in range(100):
        for drawn in (draw_configuration(Random(seed), ["public.t1"], transforms=1), draw_outbox(Random(seed))):
            assert error_lines(validate(required | drawn)) == []


def test_a_state_that_one_side_does_not_reach_ends_the_run() -> None:
    run = Run(Place("http://real", "http://ours", "", ""), 1)
    states = {run.real: "PAUSED PAUSED", run.own: "RUNNING PAUSED"}
    with patch.object(Side, "state", lambda side: states[side]), patch.object(Run, "until", lambda _, holds: holds()):
        with pytest.raises(TimeoutError, match="real PAUSED PAUSED, ours RUNNING PAUSED"):
            run.reach("PAUSED PAUSED")
        states[run.own] = "FAILED"
        run.reach("PAUSED PAUSED")
    for side in run.sides:
        side.close()


def test_bytes_that_read_alike_differ() -> None:
    pairs = (('{"a":"\\u00e9"}', '{"a":"é"}'), ('{"a":1.0}', '{"a":1.00}'), ('{"a":1,"b":2}', '{"b":2,"a":1}'))
    for left, right in pairs:
        assert differences([event("fuzzr1", text=left)], [event("fuzzo1", text=right)]) != []


def test_what_a_snapshot_read_has_positions_of_its_own() -> None:
    assert differences([event("fuzzr1", snapshot="true")], [event("fuzzo1", snapshot="true", lsn=9, txId=1)]) == []


def test_within_keys_what_came_again_counts_once_and_what_is_missing_is_found() -> None:
    rules = replace(Rules(), order="key", sequences=False, exact=False)
    one, two = event("fuzzr1"), event("fuzzr1", key=2)
    assert differences([one, two, one], [event("fuzzo1", key=2), event("fuzzo1", sequence='[null,"5"]')], rules) == []
    assert differences([one, two], [event("fuzzo1", key=2)], rules) != []


def test_only_the_last_row_of_a_key_counts_where_changes_overtake_a_snapshot() -> None:
    rules = replace(Rules(), reads="last", sequences=False)

    def row(tag: str, value: int, op: str) -> Record:
        source = {"snapshot": "incremental" if op == "r" else "false"}
        return Record(f"{tag}.t", 0, b'{"id":1}', json.dumps({"after": {"v": value}, "op": op, "source": source}).encode())

    assert differences([row("fuzzr1", 1, "r"), row("fuzzr1", 2, "u")], [row("fuzzo1", 2, "u")], rules) == []
    assert differences([row("fuzzr1", 2, "u"), row("fuzzr1", 1, "r")], [row("fuzzo1", 2, "u")], rules) != []
