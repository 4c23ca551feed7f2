"""Compare a connector of a real Kafka Connect and Debezium with ours on random changes of one database.

Both workers, PostgreSQL (``wal_level=logical``) and Kafka must run. A run makes a database, two slots and topics whose names begin with
``fuzz``, and removes them in the end. With the same seed it makes the same changes again.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import httpx
import psycopg

from .change_run import run_changes
from .comparison import shown
from .mode_run import run_modes
from .outbox_run import run_outbox
from .run import Outcome, Place, Run, properties
from .snapshot_run import run_snapshots
from .stop_run import run_stops

CONNECTOR: Final = "io.debezium.connector.postgresql.PostgresConnector"
RUNS: Final[dict[str, Callable[[Run], Outcome]]] = {
    "changes": run_changes,
    "snapshots": run_snapshots,
    "stops": run_stops,
    "outbox": run_outbox,
    "modes": run_modes,
}


def main() -> int:
    """0 when nothing differed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential.live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="http://127.0.0.1:8083", help="a Kafka Connect with Debezium")
    parser.add_argument("--own-url", default="http://127.0.0.1:8084", help="our worker, whose connector.plugin.version is that of Debezium")
    parser.add_argument(
        "--dsn", default="host=127.0.0.1 port=5432 user=postgres", help="PostgreSQL, as this machine and the workers reach it"
    )
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", help="the Kafka of both workers")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--runs", type=int, default=10, help="how many seeds")
    parser.add_argument("--kind", choices=RUNS, help="the kind of each run; without it they take turns")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no run after this time")
    parser.add_argument("--signals", type=Path, help="a folder for files of signals, which is signal.file.directory of our worker")
    parser.add_argument("--out", type=Path, help="a folder for the statements and records of each run")
    arguments = parser.parse_args()
    place = Place(arguments.url, arguments.own_url, arguments.dsn, arguments.bootstrap, _version(arguments.url), arguments.signals)
    if missing := _missing(place):
        parser.error(missing)
    end = time.monotonic() + arguments.minutes * 60
    totals: Counter[str] = Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        if time.monotonic() > end:
            break
        kind = arguments.kind or tuple(RUNS)[seed % len(RUNS)]
        totals[_one(place, kind, seed, arguments.out)] += 1
    sys.stdout.write(f"{dict(totals)}\n")
    return 1 if any(status.startswith(("DIFFERENT", "broken")) for status in totals) else 0


def _one(place: Place, kind: str, seed: int, out: Path | None) -> str:
    run, start = Run(place, seed, kind[:2]), time.monotonic()
    try:
        outcome = RUNS[kind](run)
    except Exception:  # noqa: BLE001 - the other runs go on
        outcome = Outcome("broken", [traceback.format_exc()])
    failed = sum(statement.startswith("-- FAILED") for statement in run.statements)
    counts = f"records={len(run.real.records)}, {len(run.own.records)} statements={len(run.statements)} failed={failed}"
    sys.stdout.write(f"{kind} {seed}: {outcome.status} in {time.monotonic() - start:.1f} s {counts}\n")
    if outcome.lines:
        sys.stdout.write(f"    {properties(run.config)}\n" + "".join(f"    {line[:1800]}\n" for line in outcome.lines[:12]))
    sys.stdout.flush()
    if out:
        out.mkdir(parents=True, exist_ok=True)
        text = "\n".join([*run.statements, "", outcome.status, *outcome.lines])
        (out / f"{kind}-{seed}.sql").write_text(text, encoding="utf-8")
        for name, side in (("real", run.real), ("own", run.own)):
            lines = (shown(record, side.name) for record in side.records)
            (out / f"{kind}-{seed}.{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return outcome.status


def _version(url: str) -> str:
    """The version of the worker's connector; empty if there is none."""
    try:
        plugins = httpx.get(f"{url}/connector-plugins", timeout=10).json()
        return next((plugin["version"] for plugin in plugins if plugin["class"] == CONNECTOR), "")
    except (httpx.HTTPError, ValueError):
        return ""


def _missing(place: Place) -> str:
    """What does not answer, in words."""
    for option, url in (("--url", place.url), ("--own-url", place.own_url)):
        try:
            httpx.get(url, timeout=10).raise_for_status()
        except httpx.HTTPError as error:
            return f"{option} {url} does not answer as Kafka Connect does: {error}"
    if not place.version or _version(place.own_url) != place.version:
        return f"--own-url {place.own_url} must emulate Debezium {place.version or '(which --url lacks)'}: connector.plugin.version"
    try:
        with place.connect("postgres") as connection:
            if connection.execute("SHOW wal_level").fetchone() != ("logical",):
                return "--dsn: the server needs wal_level=logical"
    except psycopg.Error as error:
        return f"--dsn: {error}"
    return ""


if __name__ == "__main__":
    raise SystemExit(main())
