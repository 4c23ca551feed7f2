"""Changes tables and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .kinds import Kind
from .literals import Drawer, decimal, integer, long_text, number, one_of, quote, quote_name, text
from .shapes import add_table, new_column
from .world import Column, Table, World

RETYPED: Final[dict[str, Drawer]] = {
    "text": long_text,
    "varchar(50)": text(30),
    "varchar(400)": text(),
    "numeric(20,5)": decimal(20, 5),
    "bigint": integer(-(2**63), 2**63 - 1),
    "jsonb": one_of("{}", '{"a": 1}', "[]"),
    "smallint": integer(-5, 5),
    "numeric": number,
}


def alter(world: World, *, within: bool = False) -> None:
    """One random alteration. ``within`` a transaction: only what may be rolled back with the tables that are known."""
    if not world.tables:
        if not within:
            add_table(world)
        return
    table = world.random.choice(world.tables)
    weights = [weight for weight, _ in ALTERATIONS] + ([0.0] * len(ALONE) if within else [weight for weight, _ in ALONE])
    [(_, act)] = world.random.choices((*ALTERATIONS, *ALONE), weights)
    act(world, table)


def _add_column(world: World, table: Table) -> None:
    column = new_column(world, table)
    if column.required and not column.default and world.chance(0.8):
        column.required = False
    if world.execute(f"ALTER TABLE {table.quoted} ADD COLUMN {column.definition()}"):
        table.columns.append(column)


def _drop_column(world: World, table: Table) -> None:
    if (own := table.own_columns()) and not table.special:
        column = world.random.choice(own)
        if world.execute(f"ALTER TABLE {table.quoted} DROP COLUMN {quote_name(column.name)} CASCADE"):
            table.columns.remove(column)
            table.key = [] if column.name in table.key else table.key


def _rename_column(world: World, table: Table) -> None:
    if (own := table.own_columns()) and not table.special:
        column, name = world.random.choice(own), new_column(world, table).name
        if world.execute(f"ALTER TABLE {table.quoted} RENAME COLUMN {quote_name(column.name)} TO {quote_name(name)}"):
            table.key = [name if part == column.name else part for part in table.key]
            column.name = name


def _change_type(world: World, table: Table) -> None:
    if own := table.own_columns():
        column, kind = world.random.choice(own), world.random.choice(tuple(RETYPED))
        name = quote_name(column.name)
        using = world.random.choice((f"{name}::text::{kind}", "NULL", f"{name}::{kind}"))
        if world.execute(f"ALTER TABLE {table.quoted} ALTER COLUMN {name} TYPE {kind} USING {using}"):
            column.type, column.draw = kind, RETYPED[kind]


def _rename_table(world: World, table: Table) -> None:
    name = f"ren{world.next_number()}"
    if not table.special and world.execute(f"ALTER TABLE {table.quoted} RENAME TO {quote_name(name)}"):
        table.name = name


def _move_table(world: World, table: Table) -> None:
    schema = world.random.choice(("public", "s2", "Other s"))
    if not table.special and not world.plain and world.execute(f"ALTER TABLE {table.quoted} SET SCHEMA {quote_name(schema)}"):
        table.schema = schema


def _change_identity(world: World, table: Table) -> None:
    world.execute(f"ALTER TABLE {table.quoted} REPLICA IDENTITY {world.random.choice(('FULL', 'DEFAULT', 'NOTHING'))}")


def _change_key(world: World, table: Table) -> None:
    if table.special:
        return
    if table.key:
        drop = (
            "DO $$ BEGIN EXECUTE (SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint"
            f" WHERE contype = 'p' AND conrelid = {quote(table.quoted)}::regclass); END $$"
        )
        if world.execute(drop):
            table.key = []
    else:
        column = world.random.choice(table.columns)
        if world.execute(f"ALTER TABLE {table.quoted} ADD PRIMARY KEY ({quote_name(column.name)})"):
            table.key, column.required = [column.name], True


def _change_column(world: World, table: Table) -> None:
    if not (own := table.own_columns()):
        return
    column, form = world.random.choice(own), world.random.random()
    alteration = f"ALTER TABLE {table.quoted} ALTER {quote_name(column.name)} "
    kind: Kind | None = world.kinds.get(column.type)
    if form < 0.3:
        if world.execute(alteration + "DROP NOT NULL"):
            column.required = False
    elif form < 0.5:
        if world.execute(alteration + "SET NOT NULL"):
            column.required = True
    elif form < 0.7:
        if world.execute(alteration + "DROP DEFAULT"):
            column.default = None
    elif kind and kind.defaults:
        default = world.random.choice(kind.defaults)
        if world.execute(alteration + f"SET DEFAULT {default}"):
            column.default = default


def _recreate(world: World, table: Table) -> None:
    """The same name with other columns, or no table."""
    if table.special or not world.execute(f"DROP TABLE {table.quoted} CASCADE"):
        return
    if world.chance(0.6) and world.execute(f"CREATE TABLE {table.quoted} (id int PRIMARY KEY, again text DEFAULT 'x')"):
        table.columns = [Column("id", "int", required=True, serial=True), Column("again", "text", long_text, default="'x'")]
        table.key = ["id"]
    else:
        world.tables.remove(table)


def _alter_enum(world: World, _table: Table) -> None:
    """A label more, or another name for one; the drawers keep to the labels that stay."""
    world.labels += 1
    if world.chance(0.7):
        world.execute(f"ALTER TYPE mood ADD VALUE 'new {world.labels}' {world.random.choice(('', 'BEFORE ' + quote('sad')))}")
    elif world.labels > 1:
        world.execute(f"ALTER TYPE mood RENAME VALUE 'new {world.labels - 1}' TO 'renamed {world.labels}'")


def _add_type(world: World, table: Table) -> None:
    """A type that did not exist when the connector started, and a column of it."""
    world.types += 1
    name, random = f"made{world.types}", world.random
    made: tuple[tuple[str, Drawer], ...] = (
        (f"CREATE TYPE {name} AS ENUM ('x', 'y z')", one_of("x", "y z")),
        (f"CREATE DOMAIN {name} AS numeric(6,2)", decimal(6, 2)),
        (f"CREATE DOMAIN {name} AS varchar(7)[]", one_of("{a,b}", "{}", "{NULL}")),
        (f"CREATE DOMAIN {name} AS mood", one_of("sad", "ok")),
        (f"CREATE TYPE {name} AS (a int, b text)", one_of("(1,x)", "(,)")),
        (f"CREATE TYPE {name} AS RANGE (subtype = int4)", one_of("[1,5)", "empty")),
    )
    create, draw = random.choice(made)
    if not world.execute(create):
        return
    column = Column(f"c{name}", name, draw)
    if "ENUM" in create and world.chance(0.4):
        column = Column(f"c{name}", f"{name}[]", one_of("{x}", '{"y z",NULL}'))
    if world.execute(f"ALTER TABLE {table.quoted} ADD COLUMN {column.definition()}"):
        table.columns.append(column)


def _partition(world: World, _table: Table) -> None:
    """Detach a partition, or attach it again."""
    for table in world.tables:
        if table.name.startswith("part") and table.special:
            name = f"{table.name}_eu"
            if not world.execute(f"ALTER TABLE {table.name} DETACH PARTITION {name}"):
                world.execute(f"DELETE FROM {table.name} WHERE region = 'eu'")
                world.execute(f"ALTER TABLE {table.name} ATTACH PARTITION {name} FOR VALUES IN ('eu')")
            else:
                world.execute(f"INSERT INTO {name} (id, region, v) VALUES ({table.count + 70000}, 'eu', 'apart')")
                table.count += 1
            return


def _comment(world: World, table: Table) -> None:
    world.execute(f"COMMENT ON TABLE {table.quoted} IS 'x'")


def _add_table(world: World, _table: Table) -> None:
    add_table(world)


Act = Callable[[World, Table], None]
ALTERATIONS: Final[tuple[tuple[float, Act], ...]] = (
    (28, _add_column),
    (12, _drop_column),
    (8, _rename_column),
    (10, _change_type),
    (5, _rename_table),
    (2, _move_table),
    (5, _change_identity),
    (5, _change_key),
    (7, _change_column),
    (3, _comment),
)
ALONE: Final[tuple[tuple[float, Act], ...]] = ((12, _add_table), (4, _recreate), (4, _alter_enum), (5, _add_type), (6, _partition))
"""What is not done within a transaction."""
