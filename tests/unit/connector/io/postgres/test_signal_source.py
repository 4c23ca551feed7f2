"""The check of the signal table: each answer of the catalog, and a server that refuses the query."""

from __future__ import annotations

from typing import Any, Self, cast

import psycopg
import pytest

from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import Connection
from connector.io.postgres.signal_source import PostgresSignalSource

Answer = tuple[bool, bool, bool, bool | None, bool | None]
ROWS: Answer = (True, True, True, True, True)
"""The role may insert and delete, the table is published, and so are inserts and deletes."""


class FakeConnection:
    """Answers one query with ``row``, or fails."""

    def __init__(self, row: Answer | None, version: int, error: psycopg.Error | None = None) -> None:
        self._row = row
        self._error = error
        self.server_version = version
        self.queries: list[tuple[str, dict[str, str | None]]] = []

    @property
    def info(self) -> Self:
        return self

    async def execute(self, query: bytes, parameters: dict[str, str | None]) -> Self:
        self.queries.append((query.decode(), parameters))
        if self._error is not None:
            raise self._error
        return self

    async def fetchone(self) -> Answer | None:
        return self._row


async def check(connection: FakeConnection, *, deletes: bool = False, publication: str | None = "shop") -> None:
    source = PostgresSignalSource(cast("Connection", connection), publication)
    await source.check_signal_table("public", 'a"b', deletes=deletes)


@pytest.mark.parametrize(
    ("row", "options"),
    [
        (ROWS, {"deletes": True}),
        ((True, False, True, True, False), {}),
        ((True, True, False, None, None), {"publication": None}),
    ],
)
async def test_a_signal_table_that_serves(row: Answer, options: dict[str, Any]) -> None:
    await check(FakeConnection(row, 150000), **options)


@pytest.mark.parametrize(
    ("row", "options", "kind", "message", "remedy"),
    [
        (None, {}, ErrorKind.SOURCE_OBJECT_MISSING, "does not exist", 'CREATE TABLE "public"."a""b" ('),
        ((False, True, True, True, True), {}, ErrorKind.SOURCE_PERMISSION, "may not INSERT", 'GRANT INSERT ON "public"."a""b"'),
        (
            (True, False, True, True, True),
            {"deletes": True},
            ErrorKind.SOURCE_PERMISSION,
            "may not DELETE",
            'GRANT DELETE ON "public"."a""b"',
        ),
        (
            (True, True, False, None, None),
            {},
            ErrorKind.SOURCE_SETTING,
            "not in publication shop",
            'ALTER PUBLICATION "shop" ADD TABLE "public"."a""b"',
        ),
        ((True, True, True, False, True), {}, ErrorKind.SOURCE_SETTING, "shop does not publish insert: w", "SET (publish = '...')"),
        ((True, True, True, True, False), {"deletes": True}, ErrorKind.SOURCE_SETTING, "not publish delete: w", "Add delete to"),
        (
            (True, True, True, False, False),
            {"deletes": True},
            ErrorKind.SOURCE_SETTING,
            "not publish insert and delete: w",
            "read.only=true",
        ),
    ],
)
async def test_a_signal_table_that_does_not_serve(
    row: Answer | None, options: dict[str, Any], kind: ErrorKind, message: str, remedy: str
) -> None:
    with pytest.raises(CdcError, match=message) as raised:
        await check(FakeConnection(row, 150000), **options)
    assert raised.value.kind is kind
    assert remedy in str(raised.value.remedy)


@pytest.mark.parametrize(("version", "asked"), [(140000, False), (150000, True)])
async def test_only_servers_with_publications_of_schemas_are_asked_for_them(version: int, asked: bool) -> None:
    connection = FakeConnection(ROWS, version)
    await check(connection)
    query, parameters = connection.queries[0]
    assert ("pg_publication_namespace" in query) is asked
    assert parameters == {"schema": "public", "table": 'a"b', "publication": "shop"}


async def test_a_query_that_fails_names_the_table() -> None:
    with pytest.raises(CdcError, match=r'looking at the signal table public\.a"b'):
        await check(FakeConnection(None, 150000, psycopg.errors.InsufficientPrivilege()))
