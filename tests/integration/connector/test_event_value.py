"""Rows of a real server, encoded by the compiled functions and read back by their schemas: PostgreSQL says whether they are equal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache

import psycopg
import pytest_asyncio
from hypothesis import Phase, given, settings

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.events.capture import Capture
from connector.events.encoders import TableEncoder
from connector.io.postgres.catalog import read_table, read_types
from connector.record.json_converter import ConverterSettings
from connector.snapshot.plan import split_copy_line
from connector.types.codec import Column, Types, TypeSettings
from connector.types.registry import base_type
from tests.fix_pg import PgServer
from tests.support.column_kinds import COLUMNS, EVERY_MODE, FURTHER, Kind
from tests.support.event_value import Json, decoded, parsed
from tests.support.kept_value import UNMAPPED, RefusedError, agree, comparison, kept, reported
from tests.support.stream_rig import configured
from tests.support.warned import Warned

PRINTED = "-c datestyle=ISO -c timezone=UTC -c intervalstyle=postgres -c extra_float_digits=3 -c bytea_output=hex -c lc_monetary=C"
EXTENSIONS = {
    "hstore": "hstore",
    "citext": "citext",
    "ltree": "ltree",
    "isbn": "isn",
    "geometry": "postgis",
    "geography": "postgis",
    "vector": "vector",
    "halfvec": "vector",
    "sparsevec": "vector",
    "xml": "xml",
}
"""What must be there for a type."""
KINDS = [*COLUMNS, *FURTHER]
ROWS, BURST = 100, 2
REFUSED = "refused"
"""No text that a rule gives is this very object."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One way to show the table: the modes, what encodes, and the schema of each column."""

    modes: TypeSettings
    encoder: TableEncoder
    schemas: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Bench:
    """A table with a column of each type that the server has."""

    connection: psycopg.Connection[tuple[object, ...]]
    kinds: tuple[Kind, ...]
    table: CatalogTable
    types: Types
    shown: tuple[Encoded, ...]
    bases: tuple[tuple[str, int], ...]
    """The name and modifier of each kind's type below all domains."""

    def stored(self, rows: Sequence[Sequence[str | None]]) -> list[list[bytes | None]]:
        """The rows as COPY prints them when the table has only these rows."""
        with self.connection.cursor() as cursor:
            cursor.execute("truncate every restart identity")
            columns = ", ".join(column.name for column in self.table.columns[1:])
            places = ", ".join("%s" for _ in self.kinds)
            for row in rows:
                cursor.execute(f"insert into every({columns}) values ({places})".encode(), row)
            with cursor.copy("copy (select * from every order by id) to stdout") as copy:
                data = b"".join(bytes(part) for part in copy)
        return [split_copy_line(line) for line in data.splitlines(keepends=True)]

    def unlike(self, shown: Encoded, texts: Sequence[Sequence[str | None]]) -> list[str]:
        """The texts of which PostgreSQL says that they are not what the column keeps in these modes."""
        checks = []
        for at, (kind, column) in enumerate(zip(self.kinds, self.table.columns[1:], strict=True)):
            name, modifier = self.bases[at]
            names = {"d": f"decoded.{column.name}", "c": f"every.{column.name}"}
            checks.append(comparison(name, kind.declared, modifier, modes_of(kind, shown.modes), names))
        with self.connection.cursor() as cursor:
            cursor.execute("truncate decoded")
            with cursor.copy("copy decoded from stdin") as copy:
                for number, row in enumerate(texts, 1):
                    copy.write_row([number, *row])
            cursor.execute(f"select {', '.join(checks)} from every join decoded using (id) order by id".encode())
            answers = cursor.fetchall()
        assert len(answers) == len(texts)
        return [
            f"{kind.declared}: {text}"
            for row, answer in zip(texts, answers, strict=True)
            for kind, text, same in zip(self.kinds, row, answer, strict=True)
            if same is not True
        ]


def base_of(kind: Kind, column: Column, types: Types) -> tuple[str, int]:
    info, modifier = base_type(column, types)
    assert info is not None
    return (info.name if kind.declared in {"price", "year"} else kind.name), modifier


@cache
def modes_of(kind: Kind, modes: TypeSettings) -> TypeSettings:
    return replace(modes, include_unknown_datatypes=kind.name in UNMAPPED)


def encoded(table: CatalogTable, types: Types, modes: TypeSettings) -> Encoded:
    changed = {f.name: str(getattr(modes, f.name)) for f in fields(modes) if f.name not in {"version", "decimal_format"}}
    config = configured(**{**changed, "include_unknown_datatypes": "true"})
    converter = ConverterSettings(decimal_format=modes.decimal_format)
    left_out = Warned()
    encoder = Capture(Selection.of(config), types, converter, converter, left_out).encoder(table)
    assert left_out == []
    event = parsed(encoder.prefix + b"null" + encoder.closing)["schema"]
    after = next(field for field in event["fields"] if field["field"] == "after")
    return Encoded(modes, encoder, {field["field"]: field for field in after["fields"]})


@pytest_asyncio.fixture(scope="module")
async def bench(pg: PgServer) -> AsyncIterator[Bench]:
    database = pg.database("values")
    async with await psycopg.AsyncConnection.connect(database.dsn, autocommit=True) as connection:
        offered = {row[0] for row in await (await connection.execute("select name from pg_available_extensions")).fetchall()}
        try:
            await connection.execute("select '<a/>'::xml")
        except psycopg.errors.FeatureNotSupported:
            # The wheel's server was built without libxml.
            offered.discard("xml")
        else:
            offered.add("xml")
        for name in sorted(offered & set(EXTENSIONS.values()) - {"xml"}):
            await connection.execute(f"create extension {name}".encode())
        await connection.execute("create type mood as enum ('sad', 'ok', 'very \"happy\"')")
        await connection.execute("create domain price as numeric(10,2); create domain year as int4")
        kinds = tuple(kind for kind in KINDS if EXTENSIONS.get(kind.name.removesuffix("[]")) in {None, *offered})
        columns = "".join(f", c{number} {kind.declared}" for number, kind in enumerate(kinds))
        await connection.execute(f"create table every (id int generated always as identity primary key{columns})".encode())
        types, table = await read_types(connection), await read_table(connection, "public", "every")
    assert table is not None
    shown = tuple(encoded(table, types, modes) for modes in EVERY_MODE[:6])
    with psycopg.connect(database.dsn, autocommit=True, options=PRINTED) as reading:
        texts = "".join(f", {column.name} text" for column in table.columns[1:])
        reading.execute(f"create temporary table decoded (id int primary key{texts})".encode())
        bases = tuple(base_of(kind, column, types) for kind, column in zip(kinds, table.columns[1:], strict=True))
        yield Bench(reading, kinds, table, types, shown, bases)


@cache
def drawn(kind: Kind) -> list[str]:
    """As many texts as the table has rows, other ones in every run but one for all servers; a failure names the text."""
    found: list[str] = []

    # What is drawn is only taken down: there is nothing to shrink or to replay.
    @settings(max_examples=ROWS, phases=[Phase.generate], database=None, deadline=None)
    @given(kind.texts)
    def take_down(text: str) -> None:
        found.append(text)

    take_down()
    return [found[number % len(found)] for number in range(ROWS)]


def test_postgresql_finds_its_own_values_in_the_events(bench: Bench) -> None:
    columns = [drawn(kind) for kind in bench.kinds]
    rows: list[Sequence[str | None]] = [*zip(*columns, strict=True), [None] * len(columns)]
    cells = bench.stored(rows)
    for shown in bench.shown:
        reported_rows = [
            reported_texts(bench, shown, row, payload) for row, payload in zip(cells, payloads(bench, shown, cells), strict=True)
        ]
        assert bench.unlike(shown, reported_rows) == [], shown.modes


def test_postgresql_would_notice_the_values_of_another_row(bench: Bench) -> None:
    columns = [drawn(kind) for kind in bench.kinds]
    cells = bench.stored(list(zip(*columns, strict=True)))
    for shown in bench.shown:
        reported_rows = [
            reported_texts(bench, shown, row, payload) for row, payload in zip(cells, payloads(bench, shown, cells), strict=True)
        ]
        unlike = {line.partition(": ")[0] for line in bench.unlike(shown, [*reported_rows[1:], reported_rows[0]])}
        assert {
            kind.declared for kind, texts in zip(bench.kinds, zip(*reported_rows, strict=True), strict=True) if len(set(texts)) > 1
        } <= unlike


def payloads(bench: Bench, shown: Encoded, cells: Sequence[Sequence[bytes | None]]) -> list[Json]:
    """The values that a snapshot's burst has for the rows. Values that a mode must refuse are refused, and NULL in the burst.

    Timestamps that are too far away for nanoseconds are no failures: null stands for them.
    """
    rows: list[list[bytes | None]] = []
    for row in cells:
        refused = [
            at + 1 for at in range(len(bench.kinds)) if wanted_text(bench, shown, at, row) is REFUSED and bench.bases[at][0] != "timestamp"
        ]
        failures = shown.encoder.tolerant(row)[1]
        assert [failure.column for failure in failures] == [bench.table.columns[at].name for at in refused], shown.modes
        rows.append([None if at in refused else cell for at, cell in enumerate(row)])
    # Columns with only ordinary values and no NULL have separate code. Only small bursts have such columns by chance.
    bursts = [rows[at : at + BURST] for at in range(0, len(rows), BURST)]
    return [
        parsed(text)["after"]
        for burst in bursts
        for text in shown.encoder.snapshot(list(zip(*burst, strict=True)), True, [b"}"] * len(burst))
    ]


def wanted_text(bench: Bench, shown: Encoded, at: int, row: Sequence[bytes | None]) -> str | None:
    """What the modes keep of a cell, or ``REFUSED``."""
    cell = row[at + 1]
    if cell is None:
        return None
    kind = bench.kinds[at]
    try:
        return kept(*bench.bases[at], modes_of(kind, shown.modes), cell.decode())
    except RefusedError:
        return REFUSED


def reported_texts(bench: Bench, shown: Encoded, row: Sequence[bytes | None], payload: Json) -> list[str | None]:
    """The decoded texts of a row, which this test compares as texts. Refused values keep their original texts."""
    texts: list[str | None] = []
    for at, (kind, column) in enumerate(zip(bench.kinds, bench.table.columns[1:], strict=True)):
        name, modifier = bench.bases[at]
        modes, wanted, cell = modes_of(kind, shown.modes), wanted_text(bench, shown, at, row), row[at + 1]
        read = decoded(shown.schemas[column.name], payload[column.name])
        if wanted is REFUSED:
            assert read is None
            texts.append(None if cell is None or name == "timestamp" else cell.decode())
            continue
        found = None if read is None else reported(name, modifier, modes, read)
        same = found == wanted if found is None or wanted is None else agree(name, modifier, modes, found, wanted)
        assert same, (kind.declared, modes, found, wanted)
        texts.append(found)
    return texts
