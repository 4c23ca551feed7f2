"""Percentiles, rates, the plan and the table of a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.each_case import each_case
from workers.lab.bench import orders
from workers.lab.bench.__main__ import REGISTERED, converters, main, options
from workers.lab.bench.failure import BenchError
from workers.lab.bench.machine import cpu_name
from workers.lab.bench.percentiles import percentile, spread
from workers.lab.bench.race import Delivery, Plan, connector_config
from workers.lab.bench.report import surroundings, table
from workers.lab.bench.topic import row_id
from workers.lab.bench.workload import WORKLOADS

PLAN = Plan("bench_1", rows=500, update_rows=2_000, rate=10, seconds=1)


@each_case(
    ("count", "share", "expected"),
    [(1, "0.99", 1), (2, "0.50", 1), (3, "0.50", 2), (20, "0.95", 19), (100, "0.99", 99), (101, "0.99", 100), (7, "1", 7), (7, "0", 1)],
)
def test_percentile_is_the_nearest_rank(count: int, share: str, expected: int) -> None:
    assert percentile(range(1, count + 1), share) == expected


@pytest.mark.parametrize(("values", "share"), [([], "0.5"), ([1.0], "1.01"), ([1.0], "-0.1")])
def test_percentile_of_nothing_or_out_of_range_is_refused(values: list[float], share: str) -> None:
    with pytest.raises(ValueError, match="No percentile"):
        percentile(values, share)


def test_spread_sorts_and_rounds() -> None:
    assert spread([30.0, 1.26, 20.0, 2.0]) == {"p50": 2.0, "p95": 30.0, "p99": 30.0, "max": 30.0}
    assert spread([1.26]) == {"p50": 1.3, "p95": 1.3, "p99": 1.3, "max": 1.3}


def test_pace_counts_from_the_first_records_seen() -> None:
    assert Delivery(first=1.0, total=3.0, rest=800).pace(1_000) == 400


def test_pace_of_records_that_came_all_at_once_counts_from_the_beginning() -> None:
    assert Delivery(first=2.0, total=2.0, rest=0).pace(1_000) == 500


@pytest.mark.parametrize(
    ("phases", "expected"), [(("snapshot",), 500), (("snapshot", "big"), 2_000), (("big",), 2_000), (("stream", "latency"), 1), ((), 1)]
)
def test_the_table_has_the_rows_that_the_phases_need(phases: tuple[str, ...], expected: int) -> None:
    assert Plan("bench_1", 500, 2_000, 10, 1, phases).table_rows == expected


def test_converters_of_a_run() -> None:
    assert converters(None, "off") == {
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    avro = converters("http://localhost:8080", REGISTERED)
    assert {name: avro[f"value.converter{name}"] for name in ("", ".apicurio.registry.url", ".apicurio.registry.auto-register")} == {
        "": "io.apicurio.registry.utils.converter.AvroConverter",
        ".apicurio.registry.url": "http://localhost:8080/apis/registry/v3",
        ".apicurio.registry.auto-register": "true",
    }
    assert {name.removeprefix("key") for name in avro if name.startswith("key")} == {
        name.removeprefix("value") for name in avro if name.startswith("value")
    }


def test_registry_is_for_avro(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options(["--registry", "http://localhost:8080"])
    assert "--registry is for --converter avro" in capsys.readouterr().err
    assert options(["--registry", "http://localhost:8080", "--converter", "avro"]).registry == "http://localhost:8080"


def test_connector_config_takes_the_place_from_the_dsn_and_the_settings_over_all() -> None:
    plan = Plan("bench_1", 1, 1, 1, 1, settings={"snapshot.mode": "no_data", "poll.interval.ms": "5"})
    config = connector_config(plan, "host=db.example port=6432 user=anna password=secret dbname=bench_1")
    place = {name.removeprefix("database."): value for name, value in config.items() if name.startswith("database.")}
    assert place == {"hostname": "db.example", "port": "6432", "user": "anna", "password": "secret", "dbname": "bench_1"}
    assert (config["snapshot.mode"], config["poll.interval.ms"]) == ("no_data", "5")
    assert {config[name] for name in ("topic.prefix", "slot.name", "publication.name")} == {"bench_1"}
    assert config["table.include.list"] == orders.TABLE


def test_connector_config_fills_what_a_dsn_leaves_out() -> None:
    config = connector_config(PLAN, "dbname=bench_1")
    assert (config["database.hostname"], config["database.port"], config["database.user"]) == ("localhost", "5432", "postgres")


@pytest.mark.parametrize("key", [b'{"id":7}', b'{"schema":{"type":"struct"},"payload":{"id":7}}'])
def test_row_id_with_and_without_schema(key: bytes) -> None:
    assert row_id(key) == 7


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00\x00\x01\x0e", b"7", b'{"number":7}', b'{"id":null}', b'{"payload":null}'])
def test_a_key_without_an_id_is_reported(key: bytes | None) -> None:
    with pytest.raises(BenchError, match="leave the phase latency out"):
        row_id(key)


def test_table_puts_runs_side_by_side_and_leaves_out_what_none_has() -> None:
    on = {"start": {"first_answer_s": 0.512}, "snapshot": {"rows_s": 61_234}, "latency_ms": {"p50": 2.0}, "peak_mb": 88}
    off = {"snapshot": {"rows_s": 151_234}, "latency_ms": {"p50": 1.5}, "peak_mb": 85}
    assert table([("schemas on", on), ("schemas off", off)]).splitlines() == [
        "                                       schemas on  schemas off",
        "process start to first REST answer, s        0.51            -",
        "snapshot, rows/s                           61,234      151,234",
        "delay p50, ms                                 2.0          1.5",
        "memory peak, whole run, MiB                    88           85",
    ]


def test_surroundings_name_machine_and_programs() -> None:
    machine = {"cores": 2, "cpu": "Fast One", "memory_gb": 23.5, "system": "Linux 6 x86_64", "load_before": 0.1}
    expected = "2 cores of Fast One, 23.5 GiB, Linux 6 x86_64, load 0.1\nConnect 4.3.0, PostgreSQL 18.6"
    assert surroundings(machine, {"Connect": "4.3.0", "PostgreSQL": "18.6"}) == expected


def test_cpu_name_is_the_first_model() -> None:
    assert cpu_name("processor\t: 0\nmodel\t\t: 1\nmodel name\t: Fast One: 3 GHz\nmodel name\t: Other\n") == "Fast One: 3 GHz"


def test_cpu_without_a_name_goes_by_its_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert cpu_name("processor\t: 0\nCPU part\t: 0xd0c\n") == "aarch64"


def test_options_default_to_half_of_the_rows_in_the_big_transaction() -> None:
    assert options(["--rows", "20_000"]).update_rows == 10_000
    assert options(["--rows", "10", "--update-rows", "1,000,000"]).update_rows == 1_000_000


def test_options_read_settings_and_phases() -> None:
    chosen = options(["--set", "poll.interval.ms=5", "--set", "a=b=c", "--phases", "big,latency"])
    assert chosen.set == [("poll.interval.ms", "5"), ("a", "b=c")]
    assert chosen.phases == ["big", "latency"]
    assert options(["--phases", "none"]).phases == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--phases", "snapshot,sprint"], "sprint: the phases are snapshot, stream, big, latency"),
        (["--set", "novalue"], "novalue is not of the form key=value"),
        (["--set", "slot.name=mine"], "slot.name is given by the run itself"),
        (["--rows", "0"], "0 is not a number of 1 or more"),
        (["--url", "http://localhost:8083"], "--url, --dsn and --bootstrap go together"),
        (["--pid", "1"], "--pid is the process of the worker at --url"),
    ],
)
def test_contradictory_options_are_reported(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        options(words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_worker_that_is_not_there_ends_the_program_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl"
    words = ["--url", "http://127.0.0.1:1", "--dsn", "host=127.0.0.1 port=1", "--bootstrap", "127.0.0.1:1", "--out", str(out)]
    assert main(words) == 1
    reported = capsys.readouterr()
    assert "No figures: GET http://127.0.0.1:1/ got no answer" in reported.err
    assert not reported.out
    assert not out.exists()


def test_an_outbox_has_its_own_table_and_transform_and_only_the_phases_of_inserts() -> None:
    workload = WORKLOADS["outbox"]
    config = connector_config(Plan("bench_1", 1, 1, 1, 1, workload=workload), "dbname=bench_1")
    assert (config["table.include.list"], config["transforms.outbox.route.topic.replacement"]) == ("bench.outbox", "bench_1.bench.outbox")
    assert workload.phases == {"snapshot", "stream"}
    assert options(["--table", "outbox"]).table == "outbox"
