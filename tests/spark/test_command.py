"""The commands against a real broker and a real PostgreSQL; the events are written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.own_session import own_session
from tests.support.spark.spark_command import command
from workers.spark.commands import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.fix_pg import PgServer

TOPIC = "sparkcmd.public.items"


def event(lsn: int, op: str, after: dict[str, object] | None) -> bytes:
    source = {"schema": "public", "table": "items", "lsn": lsn, "ts_ms": lsn}
    return json.dumps({"before": None, "after": after, "source": source, "op": op}).encode()


@pytest.mark.long
@pytest.mark.pg(">= 18")
async def test_mirror_continues_and_verify_distinguishes_equal_tables(
    spark: SparkSession,
    kafka_bootstrap: str,
    pg: PgServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    database = pg.database("sparkcmd")
    database.execute(
        "create table items(id int primary key, price numeric(10,2), at timestamptz)",
        "insert into items values (1, 1.10, '2026-01-01 00:00+00'), (3, null, null)",
    )
    config = tmp_path / "mirror.toml"
    config.write_text(
        f"""
        name = "sparkcmd"
        bootstrap = "{kafka_bootstrap}"
        prefix = "sparkcmd"
        checkpoint = "{tmp_path}/checkpoint"
        dsn = "{database.dsn}"
        master = "local[2]"
        [sink]
        path = "{tmp_path}/tables"
        [spark]
        # Compiling well is for those who run long.
        "spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
        """,
        encoding="utf-8",
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
        await producer.send_and_wait(TOPIC, event(4, "c", {"id": 3, "price": None, "at": None}), b'{"id":3}')
        code, output = await command("mirror", "--config", str(config), "--show", "10")
        assert (code, output.splitlines()[-1]) == (1, "Not equal: public.items."), output
        assert "batch 0: 4 records of 1 tables" in output
        assert "public.items: 3 rows in the mirror, 2 in the source: 1 rows differ" in output

        await producer.send_and_wait(TOPIC, event(5, "d", None), b'{"id":2}')
        await producer.send_and_wait(TOPIC, None, b'{"id":2}')
        # The command is shown to be one; from here on it runs in a session that is there already, since each takes 20 s to start.
        session = own_session(spark)
        monkeypatch.setattr(session, "stop", lambda: None)
        monkeypatch.setattr("workers.spark.commands.session_of", lambda *_, **__: session)
        assert main(["mirror", "--config", str(config), "--show", "10"]) == 0
        output = capsys.readouterr().out
        assert output.splitlines()[-1] == "All tables are equal.", output
        assert "batch 1: 2 records of 1 tables" in output

        database.execute("update items set price = 9 where id = 3")
        assert main(["verify", "--config", str(config), "--json"]) == 1
        output = capsys.readouterr().out
        [verdict] = json.loads(output[output.index("{") :])["tables"]
        assert verdict["table"] == "public.items", verdict

        assert main(["maintain", "--config", str(config), "--json"]) == 0
        output = capsys.readouterr().out
        [report] = json.loads(output[output.index("{") :])["tables"]
        assert (report["table"], report["skipped"], report["after"]["files"]) == ("public.items", None, 1), report
    finally:
        await producer.stop()
