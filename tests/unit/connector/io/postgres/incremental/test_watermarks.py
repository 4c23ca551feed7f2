"""Watermarks: their rows, the number of attempts, and the final failure."""

from __future__ import annotations

from typing import cast

import psycopg
import pytest

from connector.errors import CdcError
from connector.io.postgres.connection import Connection
from connector.io.postgres.incremental.watermarks import Watermarks
from tests.support.log_line import log_text


class FakeConnection:
    """Takes statements after as many failures as it is given; ``lost``: the connection ends with the first of them."""

    def __init__(self, failures: int = 0, *, lost: bool = False) -> None:
        self.failures = failures
        self.lost = lost
        self.closed = False
        self.written: list[tuple[str, tuple[str | None, ...]]] = []
        self.attempts = 0

    async def execute(self, statement: bytes, values: tuple[str | None, ...]) -> None:
        self.attempts += 1
        if self.attempts <= self.failures:
            self.closed = self.lost
            raise psycopg.errors.LockNotAvailable
        self.written.append((statement.decode(), values))


def watermarks(*, deletes: bool = False, dated: bool = True, retries: int = 2) -> Watermarks:
    return Watermarks("public", "a%b", deletes=deletes, dated=dated, retries=retries, backoff_s=0.0)


@pytest.mark.parametrize("deletes", [False, True])
async def test_what_is_written(deletes: bool) -> None:
    fake, made = FakeConnection(), watermarks(deletes=deletes)
    await made.open(cast("Connection", fake), "c")
    await made.close(cast("Connection", fake), "c")
    opening, closing = fake.written
    assert opening[0] == 'INSERT INTO "public"."a%%b" VALUES (%s, %s, %s)'
    assert opening[1][:2] == ("c-open", "snapshot-window-open")
    if deletes:
        assert closing == ('DELETE FROM "public"."a%%b" WHERE id = %s', ("c-open",))
    else:
        assert closing[1][:2] == ("c-close", "snapshot-window-close")
        assert str(opening[1][2])[:-1] in str(closing[1][2])


async def test_2_3_4_writes_no_times() -> None:
    fake = FakeConnection()
    await watermarks(dated=False).open(cast("Connection", fake), "c")
    assert fake.written[0][1] == ("c-open", "snapshot-window-open", None)


@pytest.mark.parametrize(("failures", "lost", "attempts", "written"), [(2, False, 3, 1), (3, False, 3, 0), (1, True, 1, 0)])
async def test_a_failure_is_tried_again_while_the_connection_holds(
    failures: int, lost: bool, attempts: int, written: int, caplog: pytest.LogCaptureFixture
) -> None:
    fake = FakeConnection(failures, lost=lost)
    if written:
        await watermarks().open(cast("Connection", fake), "c")
    else:
        with pytest.raises(CdcError, match=r"writing a watermark to public\.a%b"):
            await watermarks().open(cast("Connection", fake), "c")
    assert (fake.attempts, len(fake.written)) == (attempts, written)
    assert log_text(caplog.records).count("watermark not written, trying again table=public.a%b sqlstate=55P03") == attempts - 1
