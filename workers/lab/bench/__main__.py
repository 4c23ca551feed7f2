"""The command line: servers, runs and output.

A run is one line of JSON on stdout, and in the file of ``--out``; progress and the table for people go to stderr.
"""

# ruff: noqa: T201 - its output is for the terminal

from __future__ import annotations

import argparse
import asyncio
import json
import math
import platform
import signal
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import psycopg
from aiokafka.errors import KafkaError

from workers.lab.bench import machine, orders, recovery, report
from workers.lab.bench.failure import BenchError
from workers.lab.bench.race import CONNECTOR, OWN, PHASES, Plan, Race
from workers.lab.bench.rest import fleet
from workers.lab.bench.rest.console import console
from workers.lab.bench.rest.interface import interface
from workers.lab.bench.servers import Servers, own_servers, own_worker, running_servers
from workers.lab.bench.stop import stoppable
from workers.lab.bench.workload import WORKLOADS
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.jars import KAFKA_VERSION
from workers.quickstart.embedded.postgres import EmbeddedPostgres
from workers.quickstart.embedded.registry import EmbeddedRegistry

REST: Final = "rest"
"""The phase with its own connectors and without rows. It runs once, whatever the schemas."""
ALL: Final = (*PHASES, REST)
CONSOLE: Final = "console"
"""The same connectors, and the pages of the web console. It runs only on request."""
FLEETS: Final[Mapping[str, fleet.Kinds]] = {REST: interface, CONSOLE: console}
RECOVERY: Final = "recovery"
"""The phase that breaks connections. It runs only on request, because it restarts PostgreSQL if that was started here."""
KNOWN: Final = (*ALL, CONSOLE, RECOVERY)
JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"
AVRO_CONVERTER: Final = "io.apicurio.registry.utils.converter.AvroConverter"
SCHEMAS: Final = {"both": ("on", "off"), "on": ("on",), "off": ("off",)}
REGISTERED: Final = "in a registry"
"""Where the schemas of a run with AvroConverter are."""


def main(arguments: list[str] | None = None) -> int:
    """Measure. Returns the exit code: 0 when all runs have completed, 1 with a message on failure, 130 on Ctrl-C."""
    chosen = options(arguments)
    try:
        with stoppable():
            runs = _measure(chosen)
    except (BenchError, EmbeddedError, TimeoutError, psycopg.Error, KafkaError) as problem:
        print(f"\nNo figures: {problem}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("\nStopped.", file=sys.stderr)
        return 130
    raced = [(heading, result) for heading, result in runs if heading not in (*FLEETS, RECOVERY)]
    tables = [report.table(raced)] * bool(raced) + [fleet.table(result) for heading, result in runs if heading in FLEETS]
    tables += [recovery.table(result) for heading, result in runs if heading == RECOVERY]
    print("", *tables, sep="\n", file=sys.stderr)
    return 0


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The checked command line. Ends the program with a message for wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m workers.lab.bench", description="Measures a worker on this machine.")
    parser.add_argument("--rows", type=_positive, default=500_000, help="rows of the snapshot; half as many in each backlog")
    parser.add_argument("--update-rows", type=_positive, help="rows that the one big transaction updates (default: half of --rows)")
    parser.add_argument("--rate", type=_positive, default=1_000, help="rows a second while delays are taken")
    parser.add_argument("--seconds", type=_positive, default=15, help="how long delays are taken")
    parser.add_argument("--phases", type=_phases, default=ALL, help=f"some of {','.join(KNOWN)}, with commas; none for the start alone")
    parser.add_argument("--connectors", type=_positive, default=200, help="how many are registered in the phases rest and console")
    parser.add_argument("--running", type=_positive, default=5, help="how many of these run; each needs a slot")
    parser.add_argument(
        "--table", choices=WORKLOADS, default="orders", help="what is written: orders, or an outbox that EventRouter turns into messages"
    )
    parser.add_argument("--schemas", choices=SCHEMAS, default="both", help="JSON with schemas, without, or a run of each")
    parser.add_argument("--converter", choices=("json", "avro"), default="json", help="JsonConverter, or Apicurio's AvroConverter")
    parser.add_argument("--registry", help="the address of the Apicurio Registry for avro; without it one is started")
    parser.add_argument("--set", type=_setting, action="append", default=[], metavar="KEY=VALUE", help="a property of the connector")
    parser.add_argument("--scrape", type=_seconds, metavar="SECONDS", help="scrape the worker's metrics so often meanwhile")
    parser.add_argument("--name", default="understudy", help="what the runs are called in the figures")
    parser.add_argument("--out", type=Path, help="a file to which the lines of JSON are added")
    given = parser.add_argument_group(
        "servers that run already", "--url, --dsn and --bootstrap go together; without them servers are started."
    )
    given.add_argument("--url", help="the worker's REST interface")
    given.add_argument("--dsn", help="a database of the PostgreSQL server; one for the run is made beside it")
    given.add_argument("--bootstrap", help="the Kafka that the worker writes to")
    given.add_argument("--metrics", default="", help="the address to scrape, if it is not /metrics of --url")
    given.add_argument("--pid", type=int, help="the worker's process on this machine, for CPU time and memory")
    chosen = parser.parse_args(arguments)
    places = (chosen.url, chosen.dsn, chosen.bootstrap)
    if any(places) and not all(places):
        parser.error("--url, --dsn and --bootstrap go together")
    if chosen.pid is not None and not chosen.url:
        parser.error("--pid is the process of the worker at --url")
    if chosen.metrics and (chosen.scrape is None or not chosen.url):
        parser.error("--metrics goes together with --url and --scrape")
    if chosen.registry is not None and chosen.converter != "avro":
        parser.error("--registry is for --converter avro")
    chosen.update_rows = chosen.update_rows or max(chosen.rows // 2, 1)
    return chosen


def _measure(chosen: argparse.Namespace) -> list[tuple[str, dict[str, object]]]:
    runs: list[tuple[str, dict[str, object]]] = []
    with ExitStack() as stack:
        restart: Callable[[], None] | None = None
        if chosen.url:
            servers = partial(_running, chosen)
        else:
            _say("starting PostgreSQL and Kafka")
            postgres, kafka = stack.enter_context(own_servers())
            restart = partial(_restart, postgres)
            servers = partial(own_worker, postgres.dsn, kafka.bootstrap, kafka_version=KAFKA_VERSION)
            # A second Ctrl-C must not leave servers running.
            stack.callback(signal.signal, signal.SIGINT, signal.SIG_IGN)
        raced = [] if chosen.phases and not set(chosen.phases) - {*FLEETS, RECOVERY} else SCHEMAS[chosen.schemas]
        if raced and chosen.converter == "avro":
            raced = [REGISTERED]
            chosen.registry = chosen.registry or stack.enter_context(EmbeddedRegistry()).url
        for schemas in raced:
            name = f"bench_{uuid.uuid4().hex[:8]}"
            heading = f"schemas {schemas}"
            with servers(name) as place:
                around = _surroundings(place)
                _say(report.surroundings(*around))
                plan = _plan(chosen, name, schemas)
                figures = _run(Race(place, plan, partial(_tell_of, heading)))
            described = {
                "table": chosen.table,
                "schemas": schemas,
                "rows": chosen.rows,
                "phases": list(plan.phases),
                "set": dict(chosen.set),
            }
            runs.append((heading, _result(chosen, described, around, place, figures)))
        for phase in (phase for phase in FLEETS if phase in chosen.phases):
            name = f"bench_{uuid.uuid4().hex[:8]}"
            with servers(name) as place:
                around = _surroundings(place)
                _say(report.surroundings(*around))
                figures = _run(fleet.Fleet(place, name, chosen.connectors, chosen.running, FLEETS[phase], partial(_tell_of, phase)))
            runs.append((phase, _result(chosen, {"phases": [phase]}, around, place, figures)))
        if RECOVERY in chosen.phases:
            name = f"bench_{uuid.uuid4().hex[:8]}"
            with servers(name) as place:
                around = _surroundings(place)
                _say(report.surroundings(*around))
                figures = _run(recovery.Recovery(place, name, dict(chosen.set), partial(_tell_of, RECOVERY), restart))
            runs.append((RECOVERY, _result(chosen, {"phases": [RECOVERY], "set": dict(chosen.set)}, around, place, figures)))
    return runs


def _restart(postgres: EmbeddedPostgres) -> None:
    postgres.halt()
    postgres.resume()


def _run(race: Race | fleet.Fleet | recovery.Recovery) -> dict[str, object]:
    """The run's figures. A signal cancels the run, which then removes what it created on the servers. Raises asyncio.CancelledError."""

    async def run() -> dict[str, object]:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()

        def stop() -> None:
            if task is not None and not task.cancelling():
                task.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        return await race.run()

    try:
        return asyncio.run(run())
    finally:
        # The event loop has reset the signal handlers.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.default_int_handler)


@contextmanager
def _running(chosen: argparse.Namespace, _name: str) -> Iterator[Servers]:
    yield running_servers(chosen.url, chosen.dsn, chosen.bootstrap, chosen.pid)


def _plan(chosen: argparse.Namespace, name: str, schemas: str) -> Plan:
    settings = {**converters(chosen.registry, schemas), **dict(chosen.set)}
    workload = WORKLOADS[chosen.table]
    # Delays are taken by the ids in the records, which are read as JSON.
    possible = [phase for phase in workload.phases if phase != "latency" or schemas != REGISTERED]
    phases = [phase for phase in chosen.phases if phase in PHASES and phase in possible]
    return Plan(
        name, chosen.rows, chosen.update_rows, chosen.rate, chosen.seconds, phases, settings, workload, chosen.scrape, chosen.metrics
    )


def converters(registry: str | None, schemas: str) -> dict[str, str]:
    """The properties of a connector's converters. ``registry`` is an address, for :data:`REGISTERED` schemas."""
    if schemas == REGISTERED:
        own = {"apicurio.registry.url": f"{registry}/apis/registry/v3", "apicurio.registry.auto-register": "true"}
        made = {"": AVRO_CONVERTER} | {f".{name}": value for name, value in own.items()}
    else:
        # Connect uses a converter's property of a connector only if the connector also names the converter.
        made = {"": JSON_CONVERTER, ".schemas.enable": "true" if schemas == "on" else "false"}
    return {f"{side}.converter{name}": value for side in ("key", "value") for name, value in made.items()}


def _surroundings(place: Servers) -> tuple[dict[str, str | int | float], dict[str, str]]:
    versions = {
        "Connect": place.rest.version(),
        "connector": place.rest.plugin_version(CONNECTOR),
        "PostgreSQL": orders.server_version(place.dsn),
    }
    if place.kafka_version is not None:
        # The servers and the worker are started here.
        versions |= {"Kafka": place.kafka_version, "Understudy": _own_version(), "Python": platform.python_version()}
    return machine.describe(), versions


def _own_version() -> str:
    try:
        return version("understudy")
    except PackageNotFoundError:
        return "from a source tree"


def _result(
    chosen: argparse.Namespace,
    described: dict[str, object],
    around: tuple[dict[str, str | int | float], dict[str, str]],
    place: Servers,
    figures: dict[str, object],
) -> dict[str, object]:
    begun: dict[str, object] = {"name": chosen.name, "at": datetime.now(UTC).isoformat(timespec="seconds"), **described}
    result = begun | {"machine": around[0], "versions": around[1]} | ({"start": dict(place.start)} if place.start else {}) | figures
    _keep(json.dumps(result), chosen.out)
    return result


def _keep(line: str, out: Path | None) -> None:
    print(line, flush=True)
    if out is not None:
        with out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _tell_of(heading: str, part: str) -> None:
    _say(f"{heading}: {part}")


def _positive(text: str) -> int:
    number = int(text.replace("_", "").replace(",", ""))
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of 1 or more")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return number


def _phases(text: str) -> Sequence[str]:
    names = [] if text == "none" else text.split(",")
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: the phases are {', '.join(KNOWN)}")
    return names


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text} is not of the form key=value")
    if key in OWN:
        raise argparse.ArgumentTypeError(f"{key} is given by the run itself")
    return key, value


if __name__ == "__main__":
    sys.exit(main())
