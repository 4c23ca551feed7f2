"""The shop's tables, its first rows, and the changes that the demo makes to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from workers.quickstart.demo.files import example

DATABASE: Final = "shop"
PREFIX: Final = "shop"

TABLES: Final = example("shop.sql")
"""Tables and first rows, below the project folder."""
FIRST_ROWS: Final = 10
"""Rows that a snapshot of the new database reads."""


@dataclass(frozen=True, slots=True)
class Change:
    """A transaction, and the number of its records, including tombstones."""

    title: str
    statements: tuple[str, ...]
    records: int


CHANGES: Final = (
    Change("A customer signs up", ("INSERT INTO customers (name, email) VALUES ('Edsger', 'edsger@example.org')",), 1),
    Change("A price goes up", ("UPDATE products SET price = 13.90 WHERE sku = 'MUG-01'",), 1),
    Change(
        "An order, all of it in one transaction",
        (
            "INSERT INTO orders (customer_id) VALUES (3)",
            "INSERT INTO order_items VALUES (2, 1, 'POT-01', 1, 39.00), (2, 2, 'TEA-01', 3, 4.20)",
            "UPDATE products SET stock = stock - 1 WHERE sku = 'POT-01'",
            "UPDATE products SET stock = stock - 3 WHERE sku = 'TEA-01'",
        ),
        5,
    ),
    Change("An item is taken back: a delete and its tombstone", ("DELETE FROM order_items WHERE order_id = 2 AND line = 2",), 2),
    Change(
        "A primary key changes: the old key ends, the new one begins",
        ("UPDATE products SET sku = 'TEA-02' WHERE sku = 'TEA-01'",),
        3,
    ),
    Change("A row in a table without a key", ("INSERT INTO visits (path, customer_id) VALUES ('/checkout', 3)",), 1),
)


def create(server: str, project: Path) -> None:
    """Create the shop's database with its tables and first rows. ``server`` is a DSN of a database on the same server."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{DATABASE}"'.encode())
    with psycopg.connect(server, dbname=DATABASE) as connection:
        connection.execute((project / TABLES).read_bytes())


def apply(dsn: str, change: Change) -> None:
    """Make one change, in one transaction."""
    with psycopg.connect(dsn) as connection:
        for statement in change.statements:
            connection.execute(statement.encode())
