"""``python -m workers.lab.bench.bulk``: one table's initial snapshot by the connector, by Spark and by Debezium in turn.

Each way has its own connector, slot and topic, and the way ``cluster-N`` its own standalone cluster of N executors. With ``--writes`` the
table changes meanwhile. Afterwards the last event of each row is compared with the table. With ``--mirror`` Spark's topic is also mirrored
and verified. The result of a way is one line of JSON on stdout; progress goes to stderr.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson
import psycopg
from aiokafka import AIOKafkaConsumer, TopicPartition

from workers.lab.bench import orders
from workers.lab.bench.connect_rest import ConnectRest
from workers.lab.bench.cpu_share import cpu_shares
from workers.lab.bench.failure import BenchError
from workers.lab.bench.race import CONNECTOR, Plan, connector_config
from workers.lab.bench.servers import Servers, own_servers, own_worker
from workers.lab.bench.spark_cluster import standalone_cluster
from workers.lab.bench.topic import TopicConsumer
from workers.quickstart.embedded.wait import wait_until

_SECONDS: Final = 3600.0
_DONE: Final = re.compile(r"^(\d+) rows of \d+ tables in ([\d.]+) s", re.MULTILINE)
_BEGINS: Final = re.compile(r"^(\S+ \S+) spark reads ", re.MULTILINE)
_ENDS: Final = re.compile(r"^(\S+ \S+) snapshot ends ", re.MULTILINE)
_PLAIN: Final = {
    f"{side}.converter{key}": value
    for side in ("key", "value")
    for key, value in (("", "org.apache.kafka.connect.json.JsonConverter"), (".schemas.enable", "false"))
}


def main(arguments: list[str] | None = None) -> int:
    """Measure. Returns the exit code: 0 when all ways have completed with correct results, else 1."""
    chosen = options(arguments)
    run = f"bulk_{uuid.uuid4().hex[:8]}"
    try:
        with _servers(chosen) as (server, bootstrap), own_worker(server, bootstrap, run) as servers:
            _say(f"writing {chosen.rows:,} rows")
            dsn = orders.create_database(server, run)
            try:
                for first in range(1, chosen.rows + 1, orders.FILL):
                    orders.insert(dsn, first, min(orders.FILL, chosen.rows + 1 - first), orders.FILL)
                with psycopg.connect(dsn, autocommit=True) as connection:
                    connection.execute("VACUUM ANALYZE bench.orders")
                for way in chosen.ways:
                    _measure(way, chosen, servers, dsn, f"{run}_{way.replace('-', '_')}")
            finally:
                orders.drop_database(server, run)
    except (BenchError, TimeoutError, psycopg.Error) as problem:
        _say(f"No figures: {problem}")
        return 1
    return 0


def options(arguments: list[str] | None) -> argparse.Namespace:
    """The command's options. Ends the program with a message for wrong arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m workers.lab.bench.bulk", description="A snapshot by the connector, by Spark, by Debezium."
    )
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--master", default="local[2]", help="Spark's master for the way spark")
    parser.add_argument("--executor-cpu", type=float, help="the part of a core that each executor of the ways cluster-N has")
    parser.add_argument(
        "--ways",
        type=_ways,
        default="own-1,own-2,spark",
        help="own-<snapshot.max.threads>, debezium-<snapshot.max.threads>, spark, and cluster-<executors>, which is Spark on a standalone"
        " cluster that is started for it; with commas (default own-1,own-2,spark)",
    )
    parser.add_argument("--dsn", help="a PostgreSQL server that runs already; a database is made in it and dropped")
    parser.add_argument("--bootstrap", help="the Kafka that runs already; without it and --dsn both are started for the run")
    parser.add_argument("--debezium", metavar="URL", help="of a Kafka Connect worker with Debezium's connector, on that Kafka")
    parser.add_argument("--mirror", action="store_true", help="then mirror Spark's topic into Delta and verify it against the table")
    parser.add_argument("--writes", type=int, default=0, help="transactions a second while a snapshot is taken")
    chosen = parser.parse_args(arguments)
    if (chosen.dsn is None) != (chosen.bootstrap is None):
        parser.error("--dsn and --bootstrap go together: name both servers, or none")
    if any(way.startswith("debezium") for way in chosen.ways) and (chosen.debezium is None or chosen.dsn is None):
        parser.error("the way debezium needs --debezium, and --dsn and --bootstrap of the servers that it is on")
    return chosen


def _ways(text: str) -> list[str]:
    ways = text.split(",")
    for way in ways:
        if re.fullmatch(r"spark|(own|debezium|cluster)-[1-9]\d*", way) is None:
            raise argparse.ArgumentTypeError(f"{way!r} is not one of spark, own-N, debezium-N, cluster-N")
    return ways


@contextmanager
def _servers(chosen: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The addresses of PostgreSQL and Kafka: those of the options, or of servers started here."""
    if chosen.dsn is not None:
        yield chosen.dsn, chosen.bootstrap
    else:
        with own_servers() as (postgres, kafka):
            yield postgres.dsn, kafka.bootstrap


def _measure(way: str, chosen: argparse.Namespace, servers: Servers, dsn: str, name: str) -> None:
    _say(way)
    kind, _, threads = way.partition("-")
    settings = _PLAIN | {"snapshot.max.threads": "1" if kind == "cluster" else threads or "1"}
    rest = ConnectRest(chosen.debezium) if kind == "debezium" else servers.rest
    config = connector_config(Plan(name, chosen.rows, 1, 1, 1, settings=settings), dsn) | {"connector.class": CONNECTOR}
    begun = time.monotonic()
    try:
        with _writing(dsn, chosen.writes) as written:
            match kind:
                case "spark":
                    figures = _by_spark(servers, name, config, chosen.master)
                case "cluster":
                    figures = _by_cluster(servers, name, config, int(threads), chosen.executor_cpu)
                case "debezium":
                    figures = asyncio.run(_by_debezium(rest, servers.bootstrap, name, config, chosen.rows))
                case _:
                    figures = _by_itself(servers, name, config)
            figures = {"way": way, **figures, "whole_s": round(time.monotonic() - begun, 2)}
        wrong = asyncio.run(_differences(servers.bootstrap, f"{name}.{orders.TABLE}", dsn))
    finally:
        if rest.answers(f"/connectors/{name}"):
            rest.delete(name)
    if chosen.mirror and kind == "spark" and not wrong:
        figures |= _mirrored(servers, name, dsn, chosen.master)
    figures |= {"rows_s": round(int(str(figures["rows"])) / float(str(figures["reading_s"]))), "writes": written(), "wrong_rows": wrong}
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()
    if figures.get("verify", 0):
        raise BenchError(f"the mirror of {way} is not the table")
    if wrong:
        raise BenchError(f"{wrong} rows differ between the table and what the topic of {way} says of them")


def _by_itself(servers: Servers, name: str, config: dict[str, str]) -> dict[str, object]:
    servers.rest.create(name, config)

    def look() -> dict[str, Any] | None:
        # The status appears shortly after the connector.
        if not servers.rest.answers(f"/connectors/{name}/status") or not servers.rest.answers(f"/connectors/{name}/progress"):
            return None
        servers.rest.task_states(name)
        progress: dict[str, Any] = servers.rest.call("GET", f"/connectors/{name}/progress")
        return progress if progress.get("phase") == "streaming" else None

    progress = wait_until(look, f"the snapshot of {name}", _SECONDS, pause=0.2)
    return {"rows": progress["rows"], "reading_s": round(progress["snapshot_seconds"], 2)}


async def _by_debezium(rest: ConnectRest, bootstrap: str, name: str, config: dict[str, str], rows: int) -> dict[str, object]:
    """Seconds from the first to the last record of the snapshot. Later records are streamed, and the writes keep the number of rows."""
    async with TopicConsumer(bootstrap, f"{name}.{orders.TABLE}") as topic:
        rest.create(name, config)
        begun = first = time.monotonic()
        while (end := await topic.end()) < rows:
            await asyncio.sleep(0.2)
            now = time.monotonic()
            if not end:
                first = now
            if now - begun > _SECONDS:
                raise BenchError(f"{name} has sent {end} of {rows} rows in {_SECONDS:g} s")
            if rest.answers(f"/connectors/{name}/status"):
                rest.task_states(name)
        return {"rows": rows, "reading_s": round(time.monotonic() - first, 2)}


def _by_spark(servers: Servers, name: str, config: dict[str, str], master: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        asked, worker = Path(folder) / "connector.json", Path(folder) / "worker.properties"
        asked.write_text(json.dumps({"name": name, "config": config}), encoding="utf-8")
        worker.write_text(f"bootstrap.servers={servers.bootstrap}\n", encoding="utf-8")
        command = [sys.executable, "-P", "-m", "workers.bulk", "bulk-snapshot", "--connect", servers.rest.url, "--master", master]
        done = subprocess.run(  # noqa: S603 (our own command)
            [*command, "--config", str(asked), "--worker", str(worker)], capture_output=True, text=True, check=False
        )
    found, begins, ends = _DONE.search(done.stdout), _BEGINS.search(done.stderr), _ENDS.search(done.stderr)
    if done.returncode or found is None or begins is None or ends is None:
        raise BenchError(f"bulk-snapshot ended with code {done.returncode}: {done.stderr[-2000:]}")
    form = "%Y-%m-%d %H:%M:%S,%f"
    reading = datetime.strptime(ends[1], form) - datetime.strptime(begins[1], form)  # noqa: DTZ007 (a difference)
    return {"rows": int(found[1]), "reading_s": round(reading.total_seconds(), 2), "with_start_s": float(found[2])}


def _by_cluster(servers: Servers, name: str, config: dict[str, str], executors: int, cpu: float | None) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        limit = None if cpu is None else stack.enter_context(cpu_shares(name, cpu))
        cluster = stack.enter_context(standalone_cluster(Path(folder), executors, limit))
        return _by_spark(servers, name, config, cluster.master) | ({} if cpu is None else {"executor_cpu": cpu})


def _mirrored(servers: Servers, name: str, dsn: str, master: str) -> dict[str, object]:
    """Mirror the topic from its first record to its last, and run ``verify``. Returns the seconds and ``verify``'s exit code."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mirror.toml"
        given = {"name": name, "bootstrap": servers.bootstrap, "topics": rf"{name}\.bench\.orders", "checkpoint": f"{folder}/checkpoint"}
        given |= {"trigger": "available-now", "dsn": dsn, "master": master}
        lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
        sink = ["[sink]", 'format = "delta"', f"path = {json.dumps(f'{folder}/tables')}"]
        config.write_text("\n".join([*lines, *sink]) + "\n", encoding="utf-8")
        figures: dict[str, object] = {}
        for command in ("mirror", "verify"):
            begun = time.monotonic()
            done = subprocess.run(  # noqa: S603 (our own command)
                [sys.executable, "-P", "-m", "workers.bulk", command, "--config", str(config)], capture_output=True, text=True, check=False
            )
            _say(done.stdout)
            if command == "mirror" and done.returncode:
                raise BenchError(f"mirror ended with code {done.returncode}: {done.stderr[-2000:]}")
            figures |= {f"{command}_s": round(time.monotonic() - begun, 1), command: done.returncode}
    return figures


@contextmanager
def _writing(dsn: str, rate: int) -> Iterator[Callable[[], int]]:
    """Change the table meanwhile: each transaction inserts a row, updates another one and deletes a third."""
    end = threading.Event()
    made = 0

    def write() -> None:
        nonlocal made
        with psycopg.connect(dsn, autocommit=True) as connection:
            row = connection.execute("SELECT min(id), max(id) FROM bench.orders").fetchone()
            low, high = row or (0, 0)
            begun = time.monotonic()
            while not end.wait(max(0.0, begun + made / rate - time.monotonic())):
                made += 1
                with connection.transaction():
                    connection.execute(orders.INSERT.encode(), (high + made, high + made))
                    connection.execute("UPDATE bench.orders SET state = 'done' WHERE id = %s", (high - made * 7,))
                    connection.execute("DELETE FROM bench.orders WHERE id = %s", (low + made - 1,))

    writer = threading.Thread(target=write)
    if rate:
        writer.start()
    try:
        yield lambda: made
    finally:
        end.set()
        if rate:
            writer.join()


async def _differences(bootstrap: str, topic: str, dsn: str) -> int:
    """The number of rows that differ from the last event of their key. Waits until the stream has sent the last change."""
    last: dict[int, tuple[str, int] | None] = {}
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    try:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        there = await asyncio.to_thread(partial(_rows, dsn))
        heard = time.monotonic()
        # After a minute without records the remaining differences are final.
        while time.monotonic() - heard < 60.0:
            batches = await consumer.getmany(timeout_ms=500, max_records=20_000)
            for record in batches.get(place, ()):
                value = None if record.value is None else orjson.loads(record.value)
                if value is not None:
                    after = value["after"]
                    last[(after or value["before"])["id"]] = None if after is None else (after["state"], after["customer_no"])
                heard = time.monotonic()
            if not batches and {row: shown for row, shown in last.items() if shown is not None} == there:
                return 0
    finally:
        await consumer.stop()
    shown = {row: value for row, value in last.items() if value is not None}
    return sum(shown.get(row) != there.get(row) for row in shown.keys() | there.keys())


def _rows(dsn: str) -> dict[int, tuple[str, int]]:
    with psycopg.connect(dsn) as connection:
        return {row: (state, customer) for row, state, customer in connection.execute("SELECT id, state, customer_no FROM bench.orders")}


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")


if __name__ == "__main__":
    sys.exit(main())
