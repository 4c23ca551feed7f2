"""Changes rows: single statements and transactions."""

from __future__ import annotations

import copy
from typing import Final

from .alterations import alter
from .literals import WORDS, quote, quote_name
from .world import Column, Table, World

ZONES: Final = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia")


def value(world: World, table: Table, column: Column) -> str:
    """An expression of SQL for one cell."""
    if column.serial:
        table.count += 1
        return str(table.count + (0 if world.chance(0.97) else 1000))
    if world.chance(0.15) and not column.required:
        return "NULL"
    if column.default and world.chance(0.1):
        return "DEFAULT"
    return column.draw(world.random, world.snapshot) if column.draw else "DEFAULT"


def insert(world: World, table: Table) -> bool:
    """One row or some."""
    columns = [column for column in table.columns if not column.generated and (column.required or column.serial or world.chance(0.85))]
    if not columns:
        return world.execute(f"INSERT INTO {table.quoted} DEFAULT VALUES")
    if _insert(world, table, columns, world.random.choice((1, 1, 1, 2, 4))):
        return True
    # One value may be outside of the column's domain: try with fewer columns.
    columns = [column for column in columns if column.required or column.serial or world.chance(0.5)]
    return bool(columns) and _insert(world, table, columns, 1)


def _insert(world: World, table: Table, columns: list[Column], rows: int) -> bool:
    names = ", ".join(quote_name(column.name) for column in columns)
    values = ", ".join("(" + ", ".join(value(world, table, column) for column in columns) + ")" for _ in range(rows))
    return world.execute(f"INSERT INTO {table.quoted} ({names}) OVERRIDING SYSTEM VALUE VALUES {values}")


def _where(world: World, table: Table) -> str:
    rows = f"SELECT ctid FROM {table.quoted} ORDER BY ctid OFFSET {world.random.randint(0, 5)} LIMIT {world.random.choice((1, 1, 2, 10))}"
    return f"WHERE ctid = ANY(ARRAY({rows})) AND tableoid = (SELECT tableoid FROM {table.quoted} LIMIT 1)"


def update(world: World, table: Table) -> bool:
    """Some columns of some rows; a quarter of the updates may change the key."""
    columns = [column for column in table.columns if not column.generated]
    if world.chance(0.75):
        columns = [column for column in columns if column.name not in table.key] or columns
    if not columns:
        return False
    picked = world.random.sample(columns, min(len(columns), world.random.choice((1, 1, 2, 5))))
    settings = []
    for column in picked:
        name = quote_name(column.name)
        settings.append(f"{name} = {name if world.chance(0.15) else value(world, table, column)}")
    return world.execute(f"UPDATE {table.quoted} SET {', '.join(settings)} {_where(world, table)}")


def change(world: World) -> None:
    """One statement that changes rows, truncates or sends a logical message."""
    random = world.random
    table, form = random.choice(world.tables), random.random()
    if form < 0.4:
        insert(world, table)
    elif form < 0.74:
        update(world, table)
    elif form < 0.88:
        world.execute(f"DELETE FROM {table.quoted} {_where(world, table)}")
    elif form < 0.9:
        world.execute(f"TRUNCATE {table.quoted}{random.choice(('', ' CASCADE', ' RESTART IDENTITY'))}")
    elif form < 0.92 and len(world.tables) > 1:
        world.execute("TRUNCATE " + ", ".join(table.quoted for table in random.sample(world.tables, 2)))
    elif form < 0.95:
        content = f"{quote(random.choice(WORDS))}::text" if world.chance(0.5) else "'\\x00ff10'::bytea"
        prefix = quote(random.choice(("pre", "p2", "Ünï", "")))
        world.execute(f"SELECT pg_logical_emit_message({random.choice(('true', 'false'))}, {prefix}, {content})")
    elif form < 0.97:
        _many(world, table)
    else:
        world.execute(f"SET TimeZone = {quote(random.choice(ZONES))}")


def _many(world: World, table: Table) -> None:
    """Rows by a query or by COPY."""
    first = quote_name(table.columns[0].name)
    form = world.random.random()
    if form < 0.35:
        world.execute(f"INSERT INTO {table.quoted} SELECT * FROM {table.quoted} ON CONFLICT DO NOTHING")
    elif form < 0.65:
        world.execute(f"INSERT INTO {table.quoted} ({first}) SELECT 5000 + i FROM generate_series(1, {world.random.choice((3, 300))}) i")
    elif table.columns[0].serial:
        rows = "".join(f"{table.count + number}\n" for number in range(1, world.random.choice((2, 40))))
        table.count += 40
        world.execute(f"COPY {table.quoted} ({first}) FROM STDIN;{rows}")


def transaction(world: World, *, altering: bool) -> None:
    """Several changes in one transaction, with savepoints that are rolled back; it commits, aborts or is prepared."""
    random = world.random
    world.execute("BEGIN")
    first = copy.deepcopy(world.tables)
    for number in range(random.choice((1, 2, 4, 8, 25) if not altering else (1, 2, 4, 8))):
        before = copy.deepcopy(world.tables)
        world.execute(f"SAVEPOINT s{number}")
        if not world.tables or (altering and world.chance(0.35)):
            alter(world, within=True)
        else:
            change(world)
        if world.chance(0.15):
            world.execute(f"ROLLBACK TO SAVEPOINT s{number}")
            world.tables = before
    end = random.random()
    if world.prepares and end < 0.2:
        name = quote(f"p{world.next_number()}")
        if not world.execute(f"PREPARE TRANSACTION {name}"):
            world.tables = first
            return
        # Other changes commit while it is prepared; they must not wait for its locks.
        world.execute(f"INSERT INTO public.beats VALUES ({world.next_number()}, 0)")
        if world.chance(0.8):
            world.execute(f"COMMIT PREPARED {name}")
            return
        world.execute(f"ROLLBACK PREPARED {name}")
        world.tables = first
    elif end < 0.87:
        if not world.execute("COMMIT"):
            world.tables = first
    else:
        world.execute("ROLLBACK")
        world.tables = first
