"""How fast the worker is here, with its defaults, on servers of its own: ``make bench``.

Prints, and writes as one line of JSON where ``--out`` says: seconds from the worker's start until it is healthy, from POST to
the first event, rows a second of a snapshot, events a second of a backlog of 100-row transactions, the delay from commit to a
consumer at a steady rate, CPU and memory of the worker. Figures of two machines do not compare.
"""

# ruff: noqa: T201 - its output is for the terminal

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
from aiokafka import AIOKafkaConsumer, TopicPartition

from workers.demo.stack import Stack

TABLE = "measured"
TOPIC = f"bench.public.{TABLE}"
CREATE = f"""
CREATE TABLE {TABLE} (
    id bigint PRIMARY KEY, customer integer NOT NULL, sku text NOT NULL, quantity smallint NOT NULL, price numeric(10, 2) NOT NULL,
    paid boolean NOT NULL, placed timestamptz NOT NULL, reference uuid NOT NULL, details jsonb, note text
)"""
ROWS = """
INSERT INTO measured SELECT i, i % 5000, 'sku-' || i % 700, i % 9, (i % 90000) / 100.0, i % 3 = 0, now(), md5(i::text)::uuid,
    jsonb_build_object('gift', i % 7 = 0, 'lines', i % 4), repeat('x', 40) FROM generate_series({first}, {last}) i"""
SMALL = 100
"""Rows of a transaction of the backlog."""
PAUSE = 0.01
"""Between two looks, in seconds: they cost the worker's own cores."""


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="make bench", description="Measures one worker with its defaults.")
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the snapshot and events of the backlog")
    parser.add_argument("--rate", type=int, default=1_000, help="rows a second while the delay is measured")
    parser.add_argument("--seconds", type=int, default=10, help="how long the delay is measured")
    parser.add_argument("--out", type=Path, help="a file that gets the result as a line of JSON")
    chosen = parser.parse_args()
    with Stack() as stack:
        figures = await Bench(stack).run(chosen.rows, chosen.rate, chosen.seconds)
    for name, value in figures.items():
        print(f"{name:<34} {value:>12,.3f}" if isinstance(value, float) else f"{name:<34} {value:>12,}")
    if chosen.out:
        with chosen.out.open("a", encoding="utf-8") as out:
            out.write(json.dumps(figures) + "\n")


class Bench:
    """One run over a started stack."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.place = TopicPartition(TOPIC, 0)
        self.pid = stack.processes()[0][1]

    async def run(self, rows: int, rate: int, seconds: int) -> dict[str, float | int]:
        """All figures by name."""
        figures: dict[str, float | int] = {"rows": rows, "start, s": round(self.stack.worker_seconds, 3)}
        self._execute(CREATE, ROWS.format(first=1, last=rows), f"ANALYZE {TABLE}")
        consumer = AIOKafkaConsumer(bootstrap_servers=self.stack.kafka.bootstrap, enable_auto_commit=False)
        await consumer.start()
        try:
            first, pace, cpu = await self._until(consumer, rows, self._post)
            figures["POST to first event, s"] = round(first, 3)
            figures["snapshot, rows/s"] = int(pace)
            figures["snapshot, rows/CPU s"] = int(rows / cpu)
            await self._state("pause", "PAUSED")
            self._backlog(rows)
            first, pace, cpu = await self._until(consumer, 2 * rows, lambda: self._state("resume", "RUNNING"))
            figures["stream, events/s"] = int(pace)
            figures["stream, events/CPU s"] = int(rows / cpu)
            delays = await self._delays(consumer, 2 * rows, rate, seconds)
            quantiles = statistics.quantiles(delays, n=100)
            figures["delay p50, ms"], figures["delay p99, ms"] = round(quantiles[49], 3), round(quantiles[98], 3)
            figures["memory at its peak, MB"] = round(self._peak() / 1024, 1)
        finally:
            await consumer.stop()
        return figures

    async def _until(self, consumer: AIOKafkaConsumer, end: int, begin: Callable[[], Awaitable[object]]) -> tuple[float, float, float]:
        """Begin and wait until the topic ends at ``end``; seconds to the first new records, records a second from then, CPU seconds."""
        before, cpu, begun = await self._end(consumer), self._cpu(), time.monotonic()
        await begin()
        first, seen = 0.0, end
        async with asyncio.timeout(900):
            while (reached := await self._end(consumer)) < end:
                if reached > before and not first:
                    first, seen = time.monotonic() - begun, reached
                await asyncio.sleep(PAUSE)
        return first, (end - seen) / (time.monotonic() - begun - first), self._cpu() - cpu

    async def _end(self, consumer: AIOKafkaConsumer) -> int:
        known = await consumer.topics()
        return int((await consumer.end_offsets([self.place]))[self.place]) if TOPIC in known else 0

    async def _post(self) -> None:
        server = self.stack.postgres
        config = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": "unused",
            "database.dbname": "shop",
            "plugin.name": "pgoutput",
            "slot.name": "bench",
            "topic.prefix": "bench",
            "table.include.list": f"public.{TABLE}",
        }
        await self._rest("POST", "/connectors", {"name": "bench", "config": config})

    async def _state(self, verb: str, wanted: str) -> None:
        await self._rest("PUT", f"/connectors/bench/{verb}")
        async with asyncio.timeout(60):
            while True:
                status = await self._rest("GET", "/connectors/bench/status")
                if [task["state"] for task in status["tasks"]] == [wanted]:
                    return
                await asyncio.sleep(PAUSE)

    async def _rest(self, method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - our own address
            self.stack.rest + path, content, {"Content-Type": "application/json"}, method=method
        )

        def call() -> Any:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - the same
                text = answer.read()
                return json.loads(text) if text else None

        return await asyncio.to_thread(call)

    def _backlog(self, rows: int) -> None:
        with psycopg.connect(self.stack.dsn, autocommit=True) as connection:
            for first in range(rows + 1, 2 * rows + 1, SMALL):
                connection.execute(ROWS.format(first=first, last=min(first + SMALL - 1, 2 * rows)).encode())

    async def _delays(self, consumer: AIOKafkaConsumer, written: int, rate: int, seconds: int) -> list[float]:
        """Milliseconds from each row's commit to its arrival here."""
        consumer.assign([self.place])
        await consumer.seek_to_end()
        count = rate * seconds
        writer = asyncio.create_task(self._write_steadily(written + 1, rate, count))
        delays: list[float] = []
        async with asyncio.timeout(seconds + 60):
            while len(delays) < count:
                for batch in (await consumer.getmany(timeout_ms=1000)).values():
                    arrived = time.time_ns() / 1e6
                    delays += [arrived - json.loads(record.value)["payload"]["source"]["ts_us"] / 1e3 for record in batch]
        await writer
        return delays

    async def _write_steadily(self, first: int, rate: int, count: int) -> None:
        begun = time.monotonic()
        async with await psycopg.AsyncConnection.connect(self.stack.dsn, autocommit=True) as connection:
            for number in range(count):
                await connection.execute(ROWS.format(first=first + number, last=first + number).encode())
                ahead = begun + (number + 1) / rate - time.monotonic()
                if ahead > 0:
                    await asyncio.sleep(ahead)

    def _execute(self, *statements: str) -> None:
        with psycopg.connect(self.stack.dsn, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _cpu(self) -> float:
        """CPU seconds of the worker so far, with its children."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")

    def _peak(self) -> int:
        """The worker's largest resident set in KiB."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    asyncio.run(main())
