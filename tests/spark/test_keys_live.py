"""A mirror of real tables whose keys become others while the connector streams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.spark.kill_rig import CONFIG, Mirroring

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.pg_once, pytest.mark.long]

TABLES = ("renamed", "widened", "retyped", "replaced", "keyless")
ROWS = 300
LONG = "repeat(md5(n::text), 100)"
"""Long enough to be kept out of line, so that updates of other columns do not send it again."""


def test_a_mirror_follows_tables_to_other_keys(spark: SparkSession, pg: PgServer, worker: Callable[..., Worker], tmp_path: Path) -> None:
    source = pg.database("keysource")
    for name in TABLES:
        key = "" if name == "keyless" else ", primary key (id)"
        source.execute(f"create table {name}(id int not null, shop int not null, n int, long text, tail int{key})")
        source.execute(f"alter table {name} alter long set storage external")
    connector = Connector(worker(), source, "keysource")
    connector.create(CONFIG | {"topic.creation.default.partitions": "3"})
    for name in TABLES:
        source.execute(f"insert into {name} select n, n % 7, n, {LONG}, 1 from generate_series(1, {ROWS}) n")
    for name in TABLES[:-1]:
        source.execute(f"update {name} set n = -n where id % 3 = 0", f"delete from {name} where id % 10 = 0")
    # As in the reference the key is read from the catalog, so the connector must have caught up before the key changes.
    connector.await_confirmed(connector.lsn())
    source.execute(
        "alter table renamed rename id to number",
        "alter table widened drop constraint widened_pkey, add primary key (shop, id)",
        "alter table retyped alter id type bigint",
        "alter table replaced drop column id",
        "alter table replaced add primary key (n)",
        "alter table keyless add primary key (id)",
    )
    for name, key in zip(TABLES, ("number", "id", "id", "abs(n)", "id"), strict=True):
        source.execute(f"update {name} set tail = 2 where {key} % 4 = 0", f"delete from {name} where {key} % 9 = 0")
    source.execute("insert into widened select id, shop + 7, n, 'another', 3 from widened where id < 50")
    connector.await_confirmed(connector.lsn())
    # Small batches, so that keys change in them and between them; PostgreSQL would refuse two rows of one key.
    mirror = Mirroring(tmp_path, connector, "postgres", pg.database("keytarget"), batch_records=700)
    try:
        mirror.finish(1200)
        verified = mirror.verify(1200, spark)
        assert verified.code == 0, verified.said
    finally:
        mirror.close()
