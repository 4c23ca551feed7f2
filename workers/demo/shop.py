"""The shop's tables, its first rows, and the changes that the demo makes to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import psycopg

DATABASE: Final = "shop"
PREFIX: Final = "shop"

TABLES: Final = """
CREATE TABLE customers (
    id serial PRIMARY KEY,
    name text NOT NULL,
    email text,
    newsletter boolean NOT NULL DEFAULT false,
    joined timestamptz NOT NULL DEFAULT now()
);
-- The whole old row goes into the log, so that events show what was there before.
ALTER TABLE customers REPLICA IDENTITY FULL;
CREATE TABLE products (
    sku text PRIMARY KEY,
    name text NOT NULL,
    price numeric(10, 2) NOT NULL,
    stock integer NOT NULL
);
ALTER TABLE products REPLICA IDENTITY FULL;
CREATE TABLE orders (
    id serial PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES customers,
    status text NOT NULL DEFAULT 'open',
    placed timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE order_items (
    order_id integer NOT NULL REFERENCES orders,
    line integer NOT NULL,
    sku text NOT NULL,
    quantity integer NOT NULL,
    price numeric(10, 2) NOT NULL,
    PRIMARY KEY (order_id, line)
);
CREATE TABLE visits (
    path text NOT NULL,
    customer_id integer,
    seen timestamptz NOT NULL DEFAULT now()
);
INSERT INTO customers (name, email, newsletter) VALUES ('Ada', 'ada@example.org', true), ('Grace', 'grace@example.org', false);
INSERT INTO products VALUES ('TEA-01', 'Green tea', 4.20, 80), ('MUG-01', 'Blue mug', 12.50, 15), ('POT-01', 'Teapot', 39.00, 4);
INSERT INTO orders (customer_id, status) VALUES (1, 'paid');
INSERT INTO order_items VALUES (1, 1, 'TEA-01', 2, 4.20), (1, 2, 'MUG-01', 1, 12.50);
INSERT INTO visits (path, customer_id) VALUES ('/tea', 1), ('/mugs', NULL);
"""
FIRST_ROWS: Final = 10
"""Rows that a snapshot of the new database reads."""


@dataclass(frozen=True, slots=True)
class Change:
    """One transaction and how many records it brings, tombstones included."""

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


def create(server: str) -> None:
    """Make the shop's database with its tables and first rows; ``server`` is a DSN of a database on the same server."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{DATABASE}"'.encode())
    with psycopg.connect(server, dbname=DATABASE) as connection:
        connection.execute(TABLES.encode())


def apply(dsn: str, change: Change) -> None:
    """Make one change, in one transaction."""
    with psycopg.connect(dsn) as connection:
        for statement in change.statements:
            connection.execute(statement.encode())
