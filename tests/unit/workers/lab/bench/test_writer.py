"""The process that writes rows: its pace, and what is said when it ends."""

from __future__ import annotations

import time

import pytest
from psycopg import Connection

from workers.lab.bench.failure import BenchError
from workers.lab.bench.writer import Order, Writer, write_steadily


class Clock:
    """Time that passes only by sleeping, and by a statement as scripted."""

    def __init__(self, *statements: float) -> None:
        self.now = 100.0
        self.statements = list(statements)
        self.rows: list[tuple[int, int]] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def execute(self, query: bytes, rows: tuple[int, int]) -> None:
        assert b"INSERT INTO bench.orders" in query
        self.rows.append(rows)
        self.now += self.statements.pop(0)


def commits(monkeypatch: pytest.MonkeyPatch, clock: Clock, order: Order) -> list[int]:
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(time, "monotonic_ns", lambda: round(clock.now * 1e9))
    monkeypatch.setattr(time, "sleep", clock.sleep)
    connection: Connection[object] = clock  # type: ignore[assignment]
    return [round(at / 1e6) for at in write_steadily(connection, order)]


def test_rows_are_written_one_by_one_at_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(0.01, 0.01, 0.01)
    assert commits(monkeypatch, clock, Order(first=7, rows=3, rate=10)) == [100_010, 100_110, 100_210]
    assert clock.rows == [(7, 7), (8, 8), (9, 9)]


def test_late_rows_follow_at_once_until_the_rate_is_kept_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(0.25, 0.01, 0.01, 0.01)
    assert commits(monkeypatch, clock, Order(first=1, rows=4, rate=10)) == [100_250, 100_260, 100_270, 100_310]


async def test_a_writer_that_ends_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    async with Writer("host=127.0.0.1 port=1 user=nobody") as writer:
        with pytest.raises(BenchError, match="The process that writes rows has ended"):
            await writer.write(Order(1, 1, 1))
    assert "port 1" in capfd.readouterr().err
