"""A user's SELECT whose result has other types than the table: each value fits the schema of the events, or the snapshot says why not."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.errors import CdcError
from connector.events.capture import Capture
from connector.io.postgres.catalog import read_types
from connector.io.postgres.incremental.chunks import find_table
from connector.io.postgres.snapshot_source import PostgresSnapshot
from connector.ports import Out
from connector.record.json_converter import ConverterSettings
from connector.runner.snapshot.rows import TableReader
from connector.snapshot.plan import projected, split_copy_line
from connector.snapshot.source import RowSink
from tests.fix_pg import PgServer
from tests.support.stream_rig import configured
from tests.support.warned import no_warning

pytestmark = pytest.mark.pg_once

TABLE = """CREATE TABLE t (id int PRIMARY KEY, price numeric(10,2), qty int, wide bigint, done boolean, ip inet, name varchar(5), mood mood,
 born date, seen timestamp(3), rate float8, prices numeric(10,2)[], ids int[], raw bytea, code uuid, free numeric)"""


class NoSink:
    """Takes no records."""

    def bind(self, *, to_marks: bool) -> None:
        raise NotImplementedError

    def out(self, topic: str) -> Out:
        raise NotImplementedError

    def pump(self) -> None:
        """Send nothing."""

    async def room(self) -> None:
        """Return at once."""

    async def drained(self) -> None:
        raise NotImplementedError


@asynccontextmanager
async def reading(pg: PgServer, select: str, **properties: str) -> AsyncIterator[tuple[TableReader, CatalogTable, Capture]]:
    database = pg.database("selects")
    database.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')", TABLE, "INSERT INTO t (id) VALUES (1)")
    config = configured(
        database_hostname=database.host,
        database_port=str(database.port),
        database_user=database.user,
        database_dbname=database.name,
        snapshot_select_statement_overrides="public.t",
        snapshot_select_statement_overrides_public_t=select,
        **properties,
    )
    source = await PostgresSnapshot.open(config, "test")
    try:
        plain = ConverterSettings(schemas_enable=False)
        capture = Capture(Selection.of(config), await read_types(source.connection), plain, plain, no_warning)
        table = await find_table(source.connection, "public.t")
        assert table is not None
        sink: RowSink = NoSink()
        yield TableReader(config, capture, sink, source), table, capture
    finally:
        await source.close()


async def row(pg: PgServer, select: str, **properties: str) -> dict[str, object]:
    """Return the row that the events of ``select`` contain."""
    async with reading(pg, select, **properties) as (reader, table, capture):
        lines = [line async for lines in reader.bursts(table) for line in lines]
        encoder = capture.encoder(projected(table, capture.needed_columns(table)))
        assert len(lines) == 1
        after, failures = encoder.tolerant(split_copy_line(lines[0]))
        assert not failures
        read: dict[str, object] = orjson.loads(after)
        return read


def unscaled(text: object) -> int:
    return int.from_bytes(base64.b64decode(str(text)), "big", signed=True)


@pytest.mark.parametrize(
    ("price", "sent"),
    [("round(13.2)", 1300), ("13", 1300), ("10.980", 1098), ("10.98::float8", 1098), ("'-1.5'", -150), ("123456789012", 12345678901200)],
)
async def test_a_decimal_has_the_fraction_digits_of_its_column(pg: PgServer, price: str, sent: int) -> None:
    assert unscaled((await row(pg, f"SELECT id, {price} AS price FROM t"))["price"]) == sent


async def test_surplus_fraction_digits_are_refused_and_not_rounded(pg: PgServer) -> None:
    for price in ("10.989", "(id + 9.989)", "10.989::float8"):
        with pytest.raises(CdcError) as raised:
            await row(pg, f"SELECT id, {price} AS price FROM t")
        assert "price" in str(raised.value)
        assert "snapshot.select.statement.overrides for table public.t" in str(raised.value)
        assert "989" not in str(raised.value)


async def test_other_forms_of_decimals_take_surplus_digits(pg: PgServer) -> None:
    select = "SELECT id, 10.989 AS price FROM t"
    assert (await row(pg, select, decimal_handling_mode="string"))["price"] == "10.989"
    assert (await row(pg, select, decimal_handling_mode="double"))["price"] == 10.989
    assert (await row(pg, "SELECT id, 13 AS price FROM t", decimal_handling_mode="string"))["price"] == "13.00"


@pytest.mark.parametrize(
    ("expression", "column", "sent"),
    [
        ("5/2.0", "qty", 2),
        ("-5/2.0", "qty", -2),
        ("2.9::float8", "wide", 2),
        ("true", "wide", 1),
        ("count(*) over ()", "qty", 1),
        ("count(*) over ()", "done", True),
        ("'12'", "qty", 12),
        ("NULL", "qty", None),
        ("NULL", "price", None),
        ("NULL", "ip", None),
        ("'REDACTED'", "ip", "REDACTED"),
        ("'longer than declared'", "name", "longer than declared"),
        ("true", "name", "true"),
        ("'REDACTED'", "mood", "REDACTED"),
        ("'2024-02-01 10:11:12+00'::timestamptz", "born", 19754),
        ("'1970-01-01 00:00:01.5555'::timestamp", "seen", 1555),
        ("1.50", "rate", 1.5),
        ("array[1,2]::bigint[]", "ids", [1, 2]),
        ("'REDACTED'", "raw", base64.b64encode(b"REDACTED").decode()),
        ("'REDACTED'", "code", "REDACTED"),
    ],
)
async def test_a_value_of_another_type_becomes_one_of_its_column(pg: PgServer, expression: str, column: str, sent: object) -> None:
    assert (await row(pg, f"SELECT id, {expression} AS {column} FROM t"))[column] == sent


async def test_elements_have_the_fraction_digits_of_their_column(pg: PgServer) -> None:
    prices = (await row(pg, "SELECT id, array[1.5, NULL, 13] AS prices FROM t"))["prices"]
    assert isinstance(prices, list)
    assert [price and unscaled(price) for price in prices] == [150, None, 1300]
    with pytest.raises(CdcError, match="prices"):
        await row(pg, "SELECT id, array[1.555] AS prices FROM t")


@pytest.mark.parametrize("text", ["", "REDACTED", "1/2/2024"])
async def test_a_text_that_is_no_date_goes_the_way_of_values_that_cannot_be_converted(pg: PgServer, text: str) -> None:
    async with reading(pg, f"SELECT id, '{text}' AS born, '{text}' AS seen FROM t") as (reader, table, capture):
        [line] = [line async for lines in reader.bursts(table) for line in lines]
        encoder = capture.encoder(projected(table, capture.needed_columns(table)))
        after, failures = encoder.tolerant(split_copy_line(line))
    assert [failure.column for failure in failures] == ["born", "seen"]
    assert orjson.loads(after)["born"] is None


@pytest.mark.parametrize(
    ("expression", "column"), [("'REDACTED'", "qty"), ("3000000000", "qty"), ("'a \"b\"'", "ip"), ("'x'", "done"), ("'x'", "price")]
)
async def test_a_value_that_does_not_fit_is_named_by_its_column(pg: PgServer, expression: str, column: str) -> None:
    with pytest.raises(CdcError, match=f"for table public.t returns a value that does not fit its column.*: {column}\\.") as raised:
        await row(pg, f"SELECT id, {expression} AS {column} FROM t")
    assert "REDACTED" not in str(raised.value)


async def test_columns_of_the_declared_types_are_read_as_they_are(pg: PgServer) -> None:
    async with reading(pg, "SELECT * FROM t") as (reader, table, _):
        assert [line async for lines in reader.bursts(table) for line in lines] == [b"1" + b"\t\\N" * 15 + b"\n"]
