"""docs/tutorials/unwrap.md: flattened rows in topics named by their tables, and a warehouse's tables that equal the source's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.fix_pg import Database, PgServer
from tests.fix_worker import Worker
from tests.support.spark.spark_command import command
from tests.support.tutorial import registered
from workers.spark.failure import JobError
from workers.spark.session import find_java

pytestmark = pytest.mark.pg_once
ADDED: Final = ["__deleted", "__lsn", "__op", "__source_ts_ms", "__ts_ms"]
COLUMNS: Final = "id, first_name, credit::text, joined::text"


def warehouse_rows(database: Database) -> list[tuple[object, ...]]:
    return database.execute(f"SELECT {COLUMNS} FROM customers ORDER BY id")


@pytest.fixture
def _java_for_spark() -> None:
    try:
        find_java()
    except JobError as error:
        pytest.skip(str(error))


@pytest.mark.long
@pytest.mark.usefixtures("_java_for_spark")
async def test_the_warehouse_equals_the_source(pg: PgServer, worker: Callable[..., Worker], tmp_path: Path) -> None:
    source, warehouse = pg.database("inventory"), pg.database("warehouse")
    source.execute(
        "CREATE TABLE customers (id serial PRIMARY KEY, first_name text NOT NULL, credit numeric(10, 2), joined timestamptz)",
        "INSERT INTO customers (first_name, credit, joined) VALUES ('Sally', 10.50, '2026-01-02 03:04:05+00'), ('George', NULL, NULL),"
        " ('Edward', 7, NULL)",
    )
    with registered("unwrap", worker(), source) as tutorial:
        source.execute(
            "INSERT INTO customers (first_name, credit) VALUES ('Anne', 0.01)",
            "UPDATE customers SET credit = credit * 2, first_name = 'Sal' WHERE id = 1",
            "DELETE FROM customers WHERE id = 2",
            "UPDATE customers SET id = 30 WHERE id = 3",
        )
        values: list[Any] = [record.payload for record in await tutorial.worker.read("customers", 8)]
        assert [(value["id"], value["__op"], value["__deleted"]) for value in values] == [
            *((number, "r", "false") for number in (1, 2, 3)),
            (4, "c", "false"),
            (1, "u", "false"),
            (2, "d", "true"),
            (3, "d", "true"),
            (30, "c", "false"),
        ]
        assert sorted(name for name in values[0] if name.startswith("__")) == ADDED
        texts = {
            "name": "warehouse",
            "bootstrap": tutorial.worker.bootstrap,
            "topics": "customers",
            "dsn": source.dsn,
            "master": "local[2]",
        }
        texts |= {"checkpoint": f"{tmp_path}/checkpoint", "sink.format": "postgres", "sink.dsn": warehouse.dsn}
        # Compiling well is for those who run long.
        texts["spark.'spark.driver.extraJavaOptions'"] = "-XX:TieredStopAtLevel=1"
        config = tmp_path / "mirror.toml"
        config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in texts.items()), encoding="utf-8")
        code, output = await command("mirror", "--config", str(config), "--show", "10")
        assert (code, output.splitlines()[-1]) == (0, "All tables are equal."), output
        assert warehouse_rows(warehouse) == warehouse_rows(source)
        assert len(warehouse_rows(source)) == 3
