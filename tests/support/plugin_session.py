"""One session as several output plugins send it: statements, and the messages of all plugins over the same WAL.

Run as a program it records them: ``python -m support.plugin_session DSN > plugin_recorded.json`` from the folder ``tests``, on a
server that has all plugins. The unit tests read that file. The integration tests record again on the available servers.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import Any, Final

import psycopg

from connector.wire.lsn import parse_lsn
from connector.wire.output_plugin import start_options

OPTIONS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "pgoutput": ("pgoutput", {"proto_version": "1", "publication_names": "everything"}),
    "decoderbufs": ("decoderbufs", {}),
    "wal2json": ("wal2json", start_options("wal2json", 0, "", {})[1]),
    "wal2json in chunks": ("wal2json", start_options("wal2json", 0, "", {})[2]),
}
"""By the recording's name: the plugin and its options."""

PREPARE: Final = (
    'CREATE SCHEMA "Odd ""S"',
    (
        "CREATE TABLE values_ (id int PRIMARY KEY, i2 smallint, i8 bigint, n numeric, n52 numeric(5,2), r real, dp double precision,"
        " m money, b boolean, o oid, c char(3), vc varchar(9), t text, ba bytea, j json, jb jsonb, u uuid, d date, ti time(3), tz timetz,"
        " ts timestamp, ts3 timestamp(3), tstz timestamptz, iv interval, ia int[], ta text[], ip inet, nn int NOT NULL DEFAULT 3)"
    ),
    'CREATE TABLE "Odd ""S"."T.able" (id int PRIMARY KEY, "Col ""x" int, "a.b" text, "ünï" text, "\'q\'" int)',
    "CREATE TABLE big (id int PRIMARY KEY, small text, body text, raw bytea)",
    "CREATE TABLE whole (id int PRIMARY KEY, small text, body text)",
    "CREATE TABLE pairs (a int NOT NULL, b text NOT NULL, c text, PRIMARY KEY (b, a))",
    *(f"ALTER TABLE {table} ALTER body SET STORAGE external" for table in ("big", "whole")),
    "ALTER TABLE big ALTER raw SET STORAGE external",
    "ALTER TABLE big SET (toast_tuple_target = 128)",
    "ALTER TABLE whole SET (toast_tuple_target = 128)",
    "ALTER TABLE whole REPLICA IDENTITY FULL",
    "CREATE PUBLICATION everything FOR ALL TABLES",
)
ROWS: Final = (
    (
        "INSERT INTO values_ VALUES (1, -32768, 9223372036854775807, 12345678901234567890.1234567890, -999.99, 0.1, 1e300, -1234.56, true,"
        " 4294967295, 'ab', 'vc', E'tab\\t\"q\" \\\\ 漢字 😀 \\x01', '\\x00ff', '{\"a\": 1}', '{\"b\": [1.50, null]}',"
        " 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2024-02-29', '24:00', '13:51:02.123789+02', '0044-03-15 01:02:03 BC',"
        " '1969-12-31 23:59:59.999', '2016-11-04 13:51:30.123456+05:30', '-1 year 2 mons -3 days 04:05:06.78', '{1,NULL}',"
        ' \'{"a b","q\\""}\','
        " '10.0.0.1/8')"
    ),
    "INSERT INTO values_ (id, d, ts, tz) VALUES (2, 'infinity', '-infinity', '24:00:00-12'), (3, '-infinity', 'infinity', '0:00Z')",
    (
        "INSERT INTO values_ (id, r, dp, m, ba, t, iv, d, ts) VALUES (4, 3.4028235e38, -2.5, 0.05, '', '', '-00:00:01.5', '5874897-12-31',"
        " '12345-06-07 08:09:10')"
    ),
    "INSERT INTO values_ (id, r, dp, d) VALUES (5, 1e-45, 123456789012345680, '4713-01-01 BC')",
    "UPDATE values_ SET i2 = 1 WHERE id = 1",
    "UPDATE values_ SET id = 20 WHERE id = 2",
    "DELETE FROM values_ WHERE id = 3",
    'INSERT INTO "Odd ""S"."T.able" VALUES (1, 2, \'x\', \'y\', 3)',
    'DELETE FROM "Odd ""S"."T.able"',
    "INSERT INTO big VALUES (1, 's', repeat('b', 2100), decode(repeat('ab', 300), 'hex'))",
    "UPDATE big SET small = 't'",
    "UPDATE big SET id = 2",
    "UPDATE big SET small = NULL, body = 'short'",
    "INSERT INTO whole VALUES (1, NULL, repeat('w', 2100)), (2, 's', NULL)",
    "UPDATE whole SET small = 't' WHERE id = 1",
    "UPDATE whole SET small = small",
    "UPDATE whole SET id = 3 WHERE id = 2",
    "DELETE FROM whole",
    "INSERT INTO pairs VALUES (1, 'one', 'x'), (2, 'two', NULL)",
    "UPDATE pairs SET c = 'y'",
    "UPDATE pairs SET a = 3 WHERE a = 2",
    "BEGIN; INSERT INTO pairs VALUES (4, 'four', '4'); UPDATE pairs SET b = 'IV' WHERE a = 4; DELETE FROM pairs WHERE a = 1; COMMIT",
)
"""Nothing that one of the plugins cannot send: truncates, messages, NaN, changes without replica identity."""
SHAPES: Final = (
    "ALTER TABLE pairs ADD d numeric(4,1) DEFAULT 2.5",
    "UPDATE pairs SET c = 'z' WHERE a = 3",
    "ALTER TABLE pairs DROP c, ALTER d TYPE numeric(8,3)",
    "UPDATE pairs SET d = 1 WHERE a = 3",
    "INSERT INTO pairs VALUES (5, 'five', 5)",
    "ALTER TABLE big DROP body",
    "UPDATE big SET small = 'after'",
    "INSERT INTO big VALUES (3, 'new', '\\x01')",
)
"""Changes of tables, and the statements that show them in the stream."""


def record(dsn: str, names: tuple[str, ...] = tuple(OPTIONS)) -> dict[str, Any]:
    """Run the session in an empty database.

    Answers ``messages``, by the recording's name a list of (LSN, message in hexadecimal), and ``catalogs``: the tables before, and
    after an LSN of the session.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in PREPARE:
            connection.execute(statement.encode())
        slots = {plugin: f"session_{plugin}_{connection.info.backend_pid}" for plugin in {OPTIONS[name][0] for name in names}}
        for plugin, slot in slots.items():
            connection.execute("SELECT pg_create_logical_replication_slot(%s, %s)", (slot, plugin))
        try:
            for setting in ("timezone = 'UTC'", "bytea_output = hex", "extra_float_digits = 3", "intervalstyle = postgres"):
                connection.execute(f"SET {setting}".encode())
            catalogs = [["0/0", tables(dsn)]]
            for statement in ROWS:
                connection.execute(statement.encode())
            row = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
            for statement in SHAPES:
                connection.execute(statement.encode())
            catalogs.append([row[0] if row else "", tables(dsn)])
            messages = {name: _messages(connection, slots[OPTIONS[name][0]], OPTIONS[name][1]) for name in names}
            return {"messages": messages, "catalogs": catalogs}
        finally:
            for slot in slots.values():
                connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))


def _messages(connection: psycopg.Connection[Any], slot: str, options: dict[str, str]) -> list[list[str]]:
    cursor = connection.execute(
        "SELECT lsn::text, encode(data, 'hex') FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, VARIADIC %s::text[])",
        (slot, [part for pair in options.items() for part in pair]),
    )
    return [[str(lsn), str(data)] for lsn, data in cursor.fetchall()]


def frames(recording: list[list[str]]) -> list[bytes]:
    """XLogData frames around a recording's messages."""
    return [b"w" + struct.pack("!qqq", parse_lsn(lsn), parse_lsn(lsn), 0) + bytes.fromhex(data) for lsn, data in recording]


def tables(dsn: str) -> list[dict[str, Any]]:
    """The session's tables as the catalog shows them at its end."""
    with psycopg.connect(dsn) as connection:
        return [
            {"schema": schema, "table": table, "identity": identity, "oid": oid, "key": list(key or ()), "columns": columns}
            for schema, table, identity, oid, key, columns in connection.execute(
                "SELECT n.nspname, c.relname, c.relreplident::text, c.oid::int8,"
                " (SELECT array_agg(a.attname::text ORDER BY k.place) FROM pg_index i,"
                "    unnest(i.indkey) WITH ORDINALITY AS k (number, place), pg_attribute a"
                "  WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.number),"
                " (SELECT jsonb_agg(jsonb_build_array(a.attname, a.atttypid::int8, a.atttypmod, a.attnotnull) ORDER BY a.attnum)"
                "  FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)"
                " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)' ORDER BY 1, 2"
            )
        ]


if __name__ == "__main__":
    taken = record(sys.argv[1])
    rows = [
        json.dumps(name) + ": [\n" + ",\n".join(f"  {json.dumps(message)}" for message in messages) + "]"
        for name, messages in taken["messages"].items()
    ]
    shown = ",\n".join(json.dumps(catalog, ensure_ascii=False) for catalog in taken["catalogs"])
    sys.stdout.write('{"messages": {\n' + ",\n".join(rows) + '},\n"catalogs": [\n' + shown + "]}\n")
