"""The command against a real broker and a real PostgreSQL; the events are written by hand."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'embedded')")

from workers.spark.failure import JobError
from workers.spark.session import find_java

if TYPE_CHECKING:
    from fix_pg import PgServer

TOPIC = "sparkcmd.public.items"


def event(lsn: int, op: str, after: dict[str, object] | None) -> bytes:
    source = {"schema": "public", "table": "items", "lsn": lsn}
    return json.dumps({"before": None, "after": after, "source": source, "op": op}).encode()


@pytest.mark.slow
@pytest.mark.pg(">= 18")
async def test_rebuild_tells_equal_tables_from_others(kafka_bootstrap: str, pg: PgServer) -> None:
    try:
        find_java()
    except JobError as error:
        pytest.skip(str(error))
    database = pg.database("sparkcmd")
    database.execute(
        "create table items(id int primary key, price numeric(10,2), at timestamptz)",
        "insert into items values (1, 1.10, '2026-01-01 00:00+00'), (3, null, null)",
    )
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, num_partitions=2, replication_factor=1)])
    await admin.close()
    producer = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap)
    await producer.start()
    try:
        await producer.send_and_wait(TOPIC, event(1, "r", {"id": 1, "price": "bQ==", "at": None}), b'{"id":1}')
        await producer.send_and_wait(TOPIC, event(2, "u", {"id": 1, "price": "bg==", "at": "2026-01-01T00:00:00.000000Z"}), b'{"id":1}')
        await producer.send_and_wait(TOPIC, event(3, "c", {"id": 2, "price": None, "at": None}), b'{"id":2}')
        await producer.send_and_wait(TOPIC, event(4, "d", None), b'{"id":2}')
        await producer.send_and_wait(TOPIC, None, b'{"id":2}')
        await producer.send_and_wait(TOPIC, event(5, "c", {"id": 3, "price": None, "at": None}), b'{"id":3}')

        code, output = await rebuild(kafka_bootstrap, database.dsn)
        assert (code, output.splitlines()[-1]) == (0, "All tables are equal."), output
        assert "public.items: 2 rows rebuilt, 2 in the source: equal" in output

        database.execute("update items set price = 9 where id = 3")
        code, output = await rebuild(kafka_bootstrap, database.dsn)
        assert (code, output.splitlines()[-1]) == (1, f"Not equal: {TOPIC}."), output
        assert "2 rows differ" in output
    finally:
        await producer.stop()


async def rebuild(bootstrap: str, dsn: str) -> tuple[int | None, str]:
    arguments = ["rebuild", "--bootstrap", bootstrap, "--prefix", "sparkcmd", "--dsn", dsn]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workers.spark", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()
