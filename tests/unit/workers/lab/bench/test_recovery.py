"""The phase that breaks connections: the proxy that does it, and what is shown."""

from __future__ import annotations

import asyncio

from workers.lab.bench.__main__ import options
from workers.lab.bench.cuttable_proxy import CuttableProxy
from workers.lab.bench.recovery import table


async def test_a_cut_ends_what_is_open_and_nothing_that_comes_later() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await reader.read()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with asyncio.timeout(10), server, CuttableProxy("127.0.0.1", server.sockets[0].getsockname()[1]) as proxy:
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(b"hello\n")
            assert await reader.readline() == b"hello\n"
            proxy.cut()
            assert await reader.read() == b""
            writer.close()


async def test_a_server_that_is_away_ends_the_connection() -> None:
    async with await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(10), CuttableProxy("127.0.0.1", port) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await reader.read() == b""
        writer.close()


def test_the_phase_is_run_only_when_it_is_asked_for() -> None:
    assert "recovery" not in options([]).phases
    assert list(options(["--phases", "recovery"]).phases) == ["recovery"]


def test_the_table_shows_seconds() -> None:
    shown = table({"recovery_ms": {"backend killed": {"n": 7, "p50": 160.0, "p95": 168.0, "p99": 168.0, "max": 1680.0}}})
    assert shown.splitlines()[-1].split() == ["backend", "killed", "7", "0.16", "1.68"]
