"""``python -m workers.lab.bench.mirror``: decode a table's topic, mirror it into Delta, mirror many tables in small batches, and lag.

The ways:

- ``changes``: decode with :func:`workers.spark.changes.changes`;
- ``from_json``: decode with a schema written by hand, in JSON's types;
- ``mirror``: ``understudy-spark mirror``;
- ``foreach_batch``: the usual job (from_json, the last row of each key by a window, MERGE), with the mirror's settings of Spark;
- ``foreach_batch_defaults``: the same job, with Spark's own settings and the mirror's heap;
- ``mirror_avro`` and ``kafka2delta``: mirrors of the same events, flattened, in Avro with a registry. kafka2delta comes from PyPI;
  ``--peers`` names the folder that ``pip install --target`` filled.

Each way runs in a process of two threads and prints one line of JSON on stdout. With ``--tables`` a line for each number of tables follows
(:mod:`workers.lab.bench.mirror.many_tables`), and with ``--lag`` the lag under a load of pgbench (:mod:`workers.lab.bench.mirror.lag`),
or with ``--replay`` while the topics of such a load are replayed.
``--sink`` chooses where these two mirror to; the ways mirror into Delta.
This project's mirrors use their own settings of Spark. The other ways use them too, except that Spark generates code as by default.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.avro.functions import to_avro

from workers.lab.bench import orders
from workers.lab.bench.failure import BenchError
from workers.lab.bench.mirror.lag import Load, measure_lag, measure_replayed
from workers.lab.bench.mirror.many_tables import ROWS, SINKS, measure
from workers.lab.bench.process_tree import ProcessTree
from workers.lab.bench.race import CONNECTOR, Plan, connector_config
from workers.lab.bench.servers import Servers, own_servers, own_worker
from workers.lab.bench.stop import stoppable
from workers.quickstart.embedded.wait import wait_until
from workers.spark.changes import changes
from workers.spark.compilation import WALKED
from workers.spark.jars import jars_of
from workers.spark.jobs.mirror_config import MirrorConfig, RegistryConfig, SinkConfig
from workers.spark.jobs.stream import run_mirror, session_of
from workers.spark.session import find_java, jar_folder
from workers.spark.topics.patterns import whole
from workers.spark.topics.records import read_records

_SECONDS: Final = 1800.0
WAYS: Final = ("changes", "from_json", "mirror", "foreach_batch", "foreach_batch_defaults", "mirror_avro", "kafka2delta")
_ROW: Final = (
    "id bigint, customer_no int, state string, total string, remark string, placed_at string, changed_at bigint, billed boolean,"
    " pieces smallint, weight double"
)
_NAMES: Final = [part.split()[0] for part in _ROW.split(", ")]
_AVRO: Final = {
    "type": "record",
    "name": "Value",
    "namespace": "bench.orders",
    "connect.name": "bench.orders.Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer_no", "type": ["null", "int"], "default": None},
        {"name": "state", "type": ["null", "string"], "default": None},
        {
            "name": "total",
            "type": [
                "null",
                {
                    "type": "bytes",
                    "scale": 2,
                    "precision": 12,
                    "connect.version": 1,
                    "connect.parameters": {"scale": "2", "connect.decimal.precision": "12"},
                    "connect.name": "org.apache.kafka.connect.data.Decimal",
                    "logicalType": "decimal",
                },
            ],
            "default": None,
        },
        {"name": "remark", "type": ["null", "string"], "default": None},
        {
            "name": "placed_at",
            "type": ["null", {"type": "string", "connect.version": 1, "connect.name": "io.debezium.time.ZonedTimestamp"}],
            "default": None,
        },
        {
            "name": "changed_at",
            "type": ["null", {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}],
            "default": None,
        },
        {"name": "billed", "type": ["null", "boolean"], "default": None},
        {"name": "pieces", "type": ["null", {"type": "int", "connect.type": "int16"}], "default": None},
        {"name": "weight", "type": ["null", "double"], "default": None},
        {"name": "__deleted", "type": ["null", "string"], "default": None},
        {"name": "__lsn", "type": ["null", "long"], "default": None},
        {"name": "__log_sequence_number", "type": ["null", "long"], "default": None},
    ],
}
_KEY: Final = {"type": "record", "name": "Key", "namespace": "bench.orders", "fields": [{"name": "id", "type": "long"}]}


def main(arguments: list[str] | None = None) -> int:
    """Measure. Returns the exit code: 0 when all ways have completed, 1 with a message on failure, 130 on Ctrl-C and SIGTERM."""
    parser = argparse.ArgumentParser(
        prog="python -m workers.lab.bench.mirror", description="A topic decoded and mirrored, by several ways."
    )
    parser.add_argument("--rows", type=int, default=200_000, help="rows; half of them change once, and a tenth goes")
    parser.add_argument("--batch", type=int, default=100_000, help="the most records of a batch")
    parser.add_argument("--ways", default=",".join(WAYS), help="with commas")
    parser.add_argument("--tables", default="1,20,100", help="numbers of tables for small batches, with commas; may be empty")
    parser.add_argument("--table-rows", type=int, default=ROWS, help="rows of each of these tables")
    parser.add_argument("--rounds", type=int, default=6, help="small batches for each number of tables")
    parser.add_argument("--sink", choices=SINKS, default="delta", help="where --tables and --lag mirror to")
    parser.add_argument("--lag", type=int, default=0, help="seconds of a load by pgbench, under which the lag is measured; 0 for none")
    parser.add_argument("--rate", type=int, default=5_000, help="the load's events a second")
    parser.add_argument("--replay", action="store_true", help="write this load first, and replay it for the mirror to have the cores")
    parser.add_argument("--linger", type=int, default=0, help="linger.ms of the connector under this load")
    parser.add_argument("--peers", default=".cache/peers", help="the folder that has kafka2delta")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.way is not None:
        return _one(chosen.way, json.loads(chosen.at))
    try:
        with stoppable():
            _measure(chosen)
    except (BenchError, TimeoutError, psycopg.Error, subprocess.CalledProcessError) as problem:
        _say(f"No figures: {problem}")
        return 1
    except KeyboardInterrupt:
        _say("Stopped.")
        return 130
    return 0


def _measure(chosen: argparse.Namespace) -> None:
    run = f"mirror_{uuid.uuid4().hex[:8]}"
    with own_servers() as (postgres, kafka), own_worker(postgres.dsn, kafka.bootstrap, run) as servers, _registry() as registry:
        ways = [way for way in chosen.ways.split(",") if way]
        events = _fill(servers, run, chosen.rows) if ways else 0
        for way in ways:
            with tempfile.TemporaryDirectory(prefix="understudy-bench-") as folder:
                at = {"bootstrap": servers.bootstrap, "topic": f"{run}.{orders.TABLE}", "folder": folder, "events": events}
                at |= {"registry": registry, "peers": chosen.peers, "batch": chosen.batch}
                command = [sys.executable, "-P", "-m", "workers.lab.bench.mirror", "--way", way, "--at", json.dumps(at)]
                # kafka2delta decodes in Python processes that Spark starts.
                peers = {"PYTHONPATH": str(Path(chosen.peers).resolve())} if way == "kafka2delta" else {}
                subprocess.run(command, check=True, env=os.environ | peers)  # noqa: S603 (our own command)
        for tables in filter(None, chosen.tables.split(",")):
            with tempfile.TemporaryDirectory(prefix="understudy-bench-") as folder:
                found = measure(servers, f"{run}_{tables}", int(tables), chosen.rounds, Path(folder), chosen.sink, chosen.table_rows)
                sys.stdout.write(json.dumps(found) + "\n")
                sys.stdout.flush()
        if chosen.lag:
            load = Load(postgres.programs.program("pgbench"), chosen.lag, chosen.rate, chosen.linger)
            with tempfile.TemporaryDirectory(prefix="understudy-bench-") as folder:
                behind = measure_replayed if chosen.replay else measure_lag
                sys.stdout.write(json.dumps(behind(servers, f"{run}_lag", load, Path(folder), chosen.sink)) + "\n")


def _fill(servers: Servers, run: str, rows: int) -> int:
    """Write the topic: a snapshot of all rows, an update of half, a delete of a tenth. Returns the number of events without tombstones."""
    dsn = orders.create_database(servers.dsn, run)
    orders.insert(dsn, 1, rows, orders.FILL)
    config = connector_config(Plan(run, rows, 1, 1, 1), dsn) | {"connector.class": CONNECTOR, "tombstones.on.delete": "false"}
    servers.rest.create(run, config)

    def streaming() -> bool:
        if not servers.rest.answers(f"/connectors/{run}/progress"):
            return False
        return bool(servers.rest.call("GET", f"/connectors/{run}/progress").get("phase") == "streaming")

    wait_until(streaming, "the snapshot", _SECONDS, pause=0.2)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(orders.UPDATE.encode(), (rows // 2,))
        connection.execute("DELETE FROM bench.orders WHERE id > %s", (rows - rows // 10,))
    orders.await_slot(dsn, run, _SECONDS)
    return rows + rows // 2 + rows // 10


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")


# --- one way, in a separate process


def _one(way: str, at: Mapping[str, Any]) -> int:
    config = MirrorConfig(
        name="bench",
        bootstrap=at["bootstrap"],
        checkpoint=f"{at['folder']}/checkpoint",
        sink=SinkConfig(path=f"{at['folder']}/tables"),
        topics=at["topic"].replace(".", "\\."),
        trigger="available-now",
        master="local[2]",
        batch_records=at["batch"],
        task_records=at["batch"] // 2,
        spark={"spark.sql.warehouse.dir": f"{at['folder']}/warehouse"},
    )
    avro = way in ("mirror_avro", "kafka2delta")
    spark = _default_session(config) if way == "foreach_batch_defaults" else session_of(replace(config, format="avro"), way)
    if not way.startswith("mirror"):
        # Jobs of users, and of other projects, have Spark's defaults.
        for name in WALKED:
            spark.conf.unset(name)
    try:
        if avro:
            _to_avro(spark, at)
            config = replace(
                config, topics=f"{at['topic']}_avro".replace(".", "\\."), format="avro", registry=RegistryConfig(url=at["registry"])
            )
        work: Callable[[], object] = {
            "changes": lambda: _noop(changes(spark, at["bootstrap"], at["topic"])),
            "from_json": lambda: _noop(_plain(read_records(spark, at["bootstrap"], config.pattern))),
            "mirror": lambda: run_mirror(config, spark, _say),
            "mirror_avro": lambda: run_mirror(config, spark, _say),
            "foreach_batch": lambda: _foreach_batch(spark, config, at),
            "foreach_batch_defaults": lambda: _foreach_batch(spark, config, at),
            "kafka2delta": lambda: _kafka2delta(spark, at),
        }[way]
        figures: dict[str, object] = {"way": way, "events": at["events"]}
        # Decoding is repeated with a warm JVM. A mirror can be made only once, but has several batches.
        for turn in ("cold", "warm") if way in ("changes", "from_json") else ("whole",):
            begun, cpu = time.monotonic(), _cpu()
            work()
            seconds, used = time.monotonic() - begun, _cpu() - cpu
            figures |= {f"{turn}_s": round(seconds, 2), f"{turn}_events_s": round(at["events"] / seconds)}
            figures |= {f"{turn}_events_per_cpu_s": round(at["events"] / used), f"{turn}_cpu_us": round(used / at["events"] * 1e6, 1)}
        figures["files"] = sum(1 for _ in Path(at["folder"]).rglob("*.parquet"))
    finally:
        spark.stop()
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0


def _default_session(config: MirrorConfig) -> SparkSession:
    """A session as the documentations of Spark and Delta show it, with the mirror's heap."""
    java = find_java()
    os.environ |= {"JAVA_HOME": str(java.resolve().parents[1]), "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "spark.jars": ",".join(str(jar) for jar in jars_of(java, jar_folder(), ("kafka", "delta"))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.memory": "2g",
        **config.spark,
    }
    spark = SparkSession.builder.master(config.master).config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("FATAL")
    return spark


def _cpu() -> float:
    """The CPU seconds so far, of this process, of Spark's, and of those that Spark has started."""
    return ProcessTree(os.getpid()).cpu()


def _noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _plain(records: DataFrame) -> DataFrame:
    row = f"struct<{_ROW.replace(' ', ':').replace(',:', ', ')}>"
    event = F.from_json(
        F.col("value").cast("string"), f"payload struct<before: {row}, after: {row}, op: string, source: struct<lsn: bigint>>"
    )
    return records.select(event.alias("e"), "offset").select("e.payload.*", "offset")


def _foreach_batch(spark: SparkSession, config: MirrorConfig, at: Mapping[str, Any]) -> None:
    """The job of many blog posts: JSON's types, the last change of each key, one MERGE."""
    table = f"delta.`{at['folder']}/plain`"
    spark.sql(f"CREATE TABLE {table} ({_ROW}) USING delta")
    updates = ", ".join(f"t.{name} = s.after.{name}" for name in _NAMES)
    values = ", ".join(f"s.after.{name}" for name in _NAMES)

    def merge(records: DataFrame, _batch: int) -> None:
        ranked = _plain(records).selectExpr("*", "coalesce(after.id, before.id) AS k")
        last = ranked.selectExpr("*", "row_number() OVER (PARTITION BY k ORDER BY offset DESC) AS n").where("n = 1")
        last.createOrReplaceTempView("plain_batch")
        last.sparkSession.sql(
            f"MERGE INTO {table} t USING plain_batch s ON t.id = s.k WHEN MATCHED AND s.op = 'd' THEN DELETE"
            f" WHEN MATCHED THEN UPDATE SET {updates} WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT ({', '.join(_NAMES)}) VALUES ({values})"
        )

    options = {"kafka.bootstrap.servers": config.bootstrap, "subscribePattern": whole(config.pattern), "startingOffsets": "earliest"}
    options |= {"maxOffsetsPerTrigger": str(at["batch"]), "maxRecordsPerPartition": str(at["batch"] // 2)}
    records = spark.readStream.format("kafka").options(**options).load()
    query = records.writeStream.option("checkpointLocation", config.checkpoint).foreachBatch(merge).trigger(availableNow=True).start()
    query.awaitTermination()


def _kafka2delta(spark: SparkSession, at: Mapping[str, Any]) -> None:
    from kafka2delta.config import DeltaTableConfig  # noqa: PLC0415 - the peer's, from --peers
    from kafka2delta.stream.stream import merge_micro_batch  # noqa: PLC0415 - the same
    from kafka2delta.udf import get_confluent_avro_value, get_schema_id  # noqa: PLC0415 - the same

    topic = f"{at['topic']}_avro"
    spark.sql("CREATE SCHEMA IF NOT EXISTS peer")
    tables = {topic: DeltaTableConfig(schema="peer", table_name="orders", path=f"{at['folder']}/peer")}
    options = {"kafka.bootstrap.servers": at["bootstrap"], "subscribe": topic, "startingOffsets": "earliest"}
    options |= {"maxOffsetsPerTrigger": str(at["batch"]), "maxRecordsPerPartition": str(at["batch"] // 2)}
    # The records are prepared as in its stream_to_delta, which does not end.
    records = (
        spark.readStream.format("kafka")
        .options(**options)
        .load()
        .where(F.col("value").isNotNull())
        .select(
            "topic",
            get_schema_id("key").alias("key_schema_id"),
            get_schema_id("value").alias("value_schema_id"),
            get_confluent_avro_value("value").alias("value_avro"),
        )
    )
    work = merge_micro_batch(schema_registry_url=at["registry"], delta_table_configs=tables)
    query = records.writeStream.option("checkpointLocation", f"{at['folder']}/peer-checkpoint").foreachBatch(work)
    query.trigger(availableNow=True).start().awaitTermination()


def _to_avro(spark: SparkSession, at: Mapping[str, Any]) -> None:
    """Write the events, flattened and in AvroConverter's form, to a separate topic. Done once."""
    topic = f"{at['topic']}_avro"
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Kafka's own client, which Spark has loaded
    settings = jvm.java.util.HashMap()
    settings.put("bootstrap.servers", at["bootstrap"])
    admin = jvm.org.apache.kafka.clients.admin.Admin.create(settings)
    there = topic in set(admin.listTopics().names().get())
    admin.close()
    if there:
        return
    records = read_records(spark, at["bootstrap"], at["topic"].replace(".", "\\."))
    flat = _plain(records).select(
        "offset",
        *(F.coalesce(F.col(f"after.{name}"), F.col(f"before.{name}")).alias(name) for name in _NAMES),
        F.when(F.col("op") == "d", "true").otherwise("false").alias("__deleted"),
        F.col("source.lsn").alias("__lsn"),
        # kafka2delta uses this field for the order.
        F.col("offset").alias("__log_sequence_number"),
    )
    typed = flat.withColumn("total", F.unbase64("total"))
    bare = json.loads(json.dumps(_AVRO).replace('"logicalType": "decimal"', '"doc": ""'))
    value = to_avro(F.struct(*(field["name"] for field in _AVRO["fields"])), json.dumps(bare))  # type: ignore[index]
    head = {number: F.lit(b"\0" + number.to_bytes(4, "big")) for number in (1, 2)}
    key = to_avro(F.struct("id"), json.dumps(_KEY))
    ordered = typed.repartition(1).sortWithinPartitions("offset")
    out = ordered.select(F.concat(head[1], key).alias("key"), F.concat(head[2], value).alias("value"))
    out.write.format("kafka").option("kafka.bootstrap.servers", at["bootstrap"]).option("topic", topic).save()


class _SchemaRegistry(BaseHTTPRequestHandler):
    """A registry of the two schemas."""

    def do_GET(self) -> None:
        number = self.path.partition("?")[0].rpartition("/")[2]
        schema = {"1": _KEY, "2": _AVRO}.get(number)
        self.send_response(404 if schema is None else 200)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.end_headers()
        self.wfile.write(json.dumps({"schema": json.dumps(schema)}).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log nothing."""


@contextmanager
def _registry() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _SchemaRegistry) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
