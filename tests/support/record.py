"""Record scenarios from a real Kafka Connect with Debezium: ``python -m tests.support.record --help``."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from pathlib import Path

import httpx
import psycopg

from .recording import difference
from .scenario import Place, Scenario, ScenarioError, play

PARITY = Path(__file__).resolve().parents[1] / "parity"


async def record(file: Path, arguments: argparse.Namespace) -> bool:
    """Play one scenario twice and keep what came when both runs brought the same; False when they did not."""
    scenario = Scenario.load(file)
    results = []
    for turn in range(1 if arguments.once else 2):
        database = f"parity_{scenario.name.replace('-', '_')}"
        place = Place(arguments.url, arguments.bootstrap, arguments.host, arguments.port, arguments.user, database, arguments.registry)
        with psycopg.connect(place.dsn.replace(f"dbname={database}", "dbname=postgres"), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)'.encode())
            connection.execute(f'CREATE DATABASE "{database}" TEMPLATE template0'.encode())
            version = connection.info.server_version // 10000
            try:
                tag = f"pr{turn}x{int(time.time() * 1000) % 0xFFFFFFFF:x}"
                results.append(await play(scenario, place, tag))
            except ScenarioError as error:
                sys.stdout.write(f"nothing was kept: {error}\n")
                return False
            finally:
                connection.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)'.encode())
    if len(results) == 2 and (differs := difference(results[0], results[1])):
        sys.stdout.write(f"{scenario.name}: two runs differ, nothing was kept\n{differs}\n")
        return False
    results[0].write(arguments.out / f"{scenario.name}.json", reference=_reference(arguments.url), postgresql=str(version))
    sys.stdout.write(f"{scenario.name}: {sum(len(records) for records in results[0].topics.values())} records\n")
    return True


def _reference(url: str) -> str:
    plugins = httpx.get(f"{url}/connector-plugins", timeout=30).json()
    [version] = {plugin["version"] for plugin in plugins if plugin["class"].endswith(".PostgresConnector")}
    return f"Debezium {version}, Kafka Connect {httpx.get(url, timeout=30).json()['version']}"


async def _main(arguments: argparse.Namespace) -> int:
    files = arguments.scenario or sorted((PARITY / "scenarios").glob("*.yaml"))
    return 0 if all([await record(file, arguments) for file in files]) else 1


def main() -> int:
    """The command; 0 when every scenario was recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.record", description=__doc__)
    parser.add_argument("scenario", nargs="*", type=Path, help="scenario files; all of tests/parity/scenarios without one")
    parser.add_argument("--url", default="http://127.0.0.1:8083", help="the Connect worker with Debezium")
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", help="its Kafka")
    parser.add_argument("--host", default="127.0.0.1", help="PostgreSQL, as this machine and the worker reach it")
    parser.add_argument("--port", type=int, default=5432)
    parser.add_argument("--user", default="postgres", help="a superuser whose password, if any, is postgres")
    parser.add_argument("--registry", default="http://127.0.0.1:8081", help="Apicurio's schema registry, for scenarios that use one")
    parser.add_argument("--out", type=Path, default=PARITY / "recordings")
    parser.add_argument("--once", action="store_true", help="do not play a second time to see whether the result is stable")
    # Topics that are made or removed this instant have no leader: the client would tell that many times.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    return asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    raise SystemExit(main())
