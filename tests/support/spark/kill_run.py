"""The random workload at full size, on its own servers: ``python -m tests.support.spark.kill_run --sink delta --sink iceberg``.

Exit codes: 0 the topics and every mirror equal the source, 1 something differs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fix_pg import PgServer
from tests.fix_worker import Worker, properties_of
from tests.support.connector import Connector
from tests.support.debian_postgres import debian_programs
from tests.support.spark.kill_rig import SINKS, KillRig
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.programs import Programs, wheel_programs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it, and print each step."""
    options = _parser().parse_args(arguments)
    programs = wheel_programs() if options.server == "wheel" else debian_programs()[0]
    with tempfile.TemporaryDirectory(prefix="understudy-kill-") as folder, EmbeddedPostgres(programs) as pg, EmbeddedKafka() as kafka:
        place = Path(folder)
        worker = Worker(place, properties_of("kill-run", kafka.bootstrap), dict(os.environ))
        worker.start()
        try:
            return asyncio.run(_run(options, programs, pg, worker, place))
        finally:
            worker.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.support.spark.kill_run", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--changes", type=int, default=200_000, help="changes to commit (default 200000)")
    parser.add_argument("--kills", type=int, default=5, help="kills of the worker, and of Spark for each mirror (default 5)")
    parser.add_argument("--rows", type=int, default=100, help="rows of each table before the connector begins (default 100)")
    parser.add_argument(
        "--sink", action="append", choices=SINKS, default=[], help="mirror to it; may be given several times (default: the topics only)"
    )
    parser.add_argument("--batch-records", type=int, default=20_000, help="the most records of a batch (default 20000)")
    parser.add_argument("--consistency", choices=("row", "transaction"), default="row", help="what mirrors apply at a time (default row)")
    parser.add_argument("--pace", type=float, help="the most changes in a second (default: as many as the server takes)")
    parser.add_argument("--seed", type=int, default=1, help="decides the workload and the moments of the kills (default 1)")
    parser.add_argument("--server", choices=("wheel", "debian"), default="wheel", help="which PostgreSQL (default wheel)")
    parser.add_argument("--seconds", type=float, default=3600, help="the longest that any mirror may take at a time (default 3600)")
    return parser


async def _run(options: argparse.Namespace, programs: Programs, pg: EmbeddedPostgres, worker: Worker, folder: Path) -> int:
    began = time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:7.1f} s  {text}\n")
        sys.stdout.flush()

    server = PgServer(pg.host, pg.port, pg.user, pg.dsn, programs.major, pg)
    connector = Connector(worker, server.database("kill_run"), "kill_run")
    sinks = list(dict.fromkeys(options.sink))
    rig = KillRig(
        server,
        connector,
        folder / "mirrors",
        seed=options.seed,
        changes=options.changes,
        sinks=sinks,
        batch_records=options.batch_records,
        consistency=options.consistency,
    )
    say(f"seed {options.seed}, PostgreSQL {programs.major}, {len(rig.workload.tables)} tables")
    try:
        rig.run(kills=options.kills, rows=options.rows, pace=options.pace, seconds=options.seconds, say=say)
        say("holding the topics against the source")
        faults = await rig.topic_faults()
        say(
            "\n".join(["the topics differ:", *faults])
            if faults
            else f"the topics equal the source; {rig.records} records, {rig.repeats} repeated"
        )
        equal = not faults
        for mirror in rig.mirrors:
            verified = mirror.verify(options.seconds)
            equal &= verified.code == 0
            say(f"{mirror.sink}: verify ended with {verified.code}\n{verified.said}")
    finally:
        rig.close()
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
