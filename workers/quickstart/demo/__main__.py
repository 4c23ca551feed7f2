"""The commands ``run`` (the default), ``up`` and ``down``."""

# ruff: noqa: T201 - its output is for the terminal

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final
from urllib.request import getproxies, proxy_bypass

import httpx
import psycopg

from connector.io.postgres.environment import ignore_environment
from workers.quickstart.demo import record, shop
from workers.quickstart.demo.files import IN_REPOSITORY, PROJECT, call, example
from workers.quickstart.demo.stack import Stack
from workers.quickstart.demo.watch import Watch
from workers.quickstart.embedded import watch
from workers.quickstart.embedded.failure import EmbeddedError

EXAMPLE: Final = example("shop.json")
NO_JAVA_FOR_SPARK: Final = 3


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Returns the exit code: 0 on success, 1 with a message on failure, 130 on Ctrl-C.

    However the command ends, the servers that it started end too, except those that ``up`` has recorded for ``down``.
    """
    parser = argparse.ArgumentParser(prog="python -m workers.quickstart.demo", description="A small shop whose changes can be watched.")
    parser.add_argument("command", nargs="?", choices=("run", "up", "down"), default="run")
    command = parser.parse_args(arguments).command
    # SIGTERM and a closed terminal end the demo and its servers, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup does
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    # The servers and the connections to them are the demo's own.
    ignore_environment()
    try:
        with watch.watched():
            return {"run": run, "up": up, "down": down}[command]()
    except (EmbeddedError, TimeoutError, psycopg.Error) as problem:
        print(f"\nThe demo failed: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130


def run() -> int:
    """Run the whole demo: from rows to events to tables."""
    print("Starting PostgreSQL, Kafka and Understudy (the first time fetches Kafka, which takes about a minute) ...", flush=True)
    stack = Stack()
    try:
        stack.start()
        print(f"{_addresses(stack)}\n")
        asyncio.run(_play(stack))
        code = _mirror(stack)
    finally:
        # A second Ctrl-C must not leave servers running.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        stack.stop()
    if code == 0:
        print("\nAll servers are stopped and their files removed. Next:")
        print(f"  {call('up')}   the same servers, kept running: try your own curl, changes and consumers")
        page = "docs/config.md" if IN_REPOSITORY else "`understudy docs config`"
        print(f"  {EXAMPLE}   the connector's configuration; {page} explains every property")
    return code


def up() -> int:
    """Start the servers and leave them running."""
    known = record.read()
    if known is not None:
        if known.alive:
            print(f"The servers run already.\n{known.addresses}")
            return 0
        record.end(known)
    stack = Stack(familiar=True).start()
    addresses = _addresses(stack)
    try:
        record.write(stack, addresses)
    except BaseException:
        stack.stop()
        raise
    for _, pid, _, _ in stack.processes():
        watch.left_running(pid)
    psql = stack.postgres.programs.program("psql")
    print(f"{addresses}\n\nTry:")
    print(f"  {' '.join(_curl(stack))}")
    print(f"  {' '.join(_own_curl())} {stack.rest}/connectors/shop/status")
    print(f"  {psql} '{stack.dsn}' -c \"UPDATE products SET price = price + 1\"")
    print(f"End it with: {call('down')}")
    return 0


def down() -> int:
    """End the servers that ``up`` started."""
    known = record.read()
    if known is None:
        print(f"Nothing to stop: `{call('up')}` has not been run.")
        return 0
    ended = record.end(known)
    print(f"Stopped: {', '.join(ended) if ended else 'nothing, all had ended before'}.")
    return 0


async def _play(stack: Stack) -> None:
    async with Watch(stack.kafka.bootstrap, shop.PREFIX) as watch:
        print(f"$ {' '.join(_curl(stack))}")
        print(await asyncio.to_thread(_post, stack))
        print("\nThe snapshot of the existing rows:")
        await watch.show(shop.FIRST_ROWS)
        for change in shop.CHANGES:
            print(f"\n{change.title}:")
            for statement in change.statements:
                print(f"  {statement};", flush=True)
            await asyncio.to_thread(shop.apply, stack.dsn, change)
            await watch.show(change.records)


def _curl(stack: Stack) -> list[str]:
    return [*_own_curl(), "-X", "POST", "-H", "'Content-Type: application/json'", "-d", f"@{EXAMPLE}", f"{stack.rest}/connectors"]


def _own_curl() -> list[str]:
    """The begin of a curl command for this machine's own address, to which no proxy leads."""
    needs = not getproxies().keys().isdisjoint(("http", "all")) and not proxy_bypass("127.0.0.1")
    return ["curl", "-sS", *(["--noproxy", "127.0.0.1"] if needs else [])]


def _post(stack: Stack) -> str:
    """Send the example with curl, or without curl by the same request. Returns the answer. Raises EmbeddedError if it is refused."""
    if shutil.which("curl"):
        command = [word.strip("'") for word in _curl(stack)]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed program
        answer = done.stdout or done.stderr
    else:
        headers = {"Content-Type": "application/json"}
        content = (PROJECT / EXAMPLE).read_bytes()
        # As long as curl waits: a worker that starts holds calls for up to 90 s.
        answer = httpx.post(f"{stack.rest}/connectors", content=content, headers=headers, timeout=None, trust_env=False).text  # noqa: S113
    try:
        created = "name" in json.loads(answer)
    except ValueError:
        created = False
    if not created:
        raise EmbeddedError(f"The worker refused the connector: {answer.strip()}")
    return answer.strip()


def _mirror(stack: Stack) -> int:
    """Write tables that equal the source's, with Spark, from the topics only."""
    print("\nSpark mirrors the topics into Delta tables, shown beside the source's (the first time fetches its jars):", flush=True)
    with tempfile.TemporaryDirectory(prefix="understudy-mirror-") as folder:
        config = Path(folder) / "mirror.toml"
        texts = {
            "name": shop.DATABASE,
            "bootstrap": stack.kafka.bootstrap,
            "prefix": shop.PREFIX,
            "dsn": stack.dsn,
            "checkpoint": f"{folder}/checkpoint",
            "master": "local[2]",
            "sink.path": f"{folder}/tables",
            # Spark makes this folder, by default in the working directory.
            "spark.spark.sql.warehouse.dir": f"{folder}/warehouse",
        }
        # A JSON string is a TOML string too.
        config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in texts.items()), encoding="utf-8")
        words = ["mirror", "--config", str(config), "--show", "40"]
        done = subprocess.run([sys.executable, "-P", "-m", "workers.bulk", *words], cwd=PROJECT, check=False)  # noqa: S603 - our own program
    if done.returncode == NO_JAVA_FOR_SPARK:
        print("This part was skipped: the message above says what it needs.")
        return 0
    return done.returncode


def _addresses(stack: Stack) -> str:
    return "\n".join((f"  Connect REST  {stack.rest}", f"  Kafka         {stack.kafka.bootstrap}", f"  PostgreSQL    {stack.dsn}"))


if __name__ == "__main__":
    sys.exit(main())
