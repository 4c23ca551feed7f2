"""The cells of ``docs/spark-notebook.md``. Change the page's prose and code here; ``make notebook`` writes the page."""

# ruff: noqa: E402, S311, T201 - each cell has its own imports, its random numbers decide nothing secret, and the page shows what it prints
# %% [markdown]
# # The Spark pipeline on one page
#
# A small shop is open for a few seconds. This page follows its rows from PostgreSQL into Kafka's topics. From there,
# [the pipeline on Spark](spark.md) converts them into typed changes, a mirror, and a history. At the end it shows what `verify` finds.
#
# `make notebook` writes this page. It starts PostgreSQL, Kafka and a worker, runs the code below from top to bottom on two cores, and
# records the output and the pictures of each piece. Times, log positions (LSNs) and durations therefore differ from run to run.
# The code is in `workers/lab/notebook/shop.py`; `workers/lab/notebook/pictures.py` draws the pictures.

# %%
import os
from pathlib import Path

DSN = os.environ["SHOP_DSN"]  # PostgreSQL, as libpq wants it
KAFKA = os.environ["SHOP_KAFKA"]
CONNECT = os.environ["SHOP_CONNECT"]  # the worker's REST interface
TABLES = Path(os.environ["SHOP_TABLES"])  # where Spark keeps its tables
PICTURES = Path(os.environ["SHOP_PICTURES"])

# %% [markdown]
# ## The shop
#
# Each customer has a long letter: 10,400 characters that PostgreSQL stores outside of the row (TOAST) and does not log again while they do
# not change. Orders have an amount, times, an enum and an array. Order lines have no key. Baskets will be emptied by `TRUNCATE`.

# %%
import psycopg

with psycopg.connect(DSN) as shop:
    shop.execute("""
        CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, letter text);
        ALTER TABLE customers ALTER COLUMN letter SET STORAGE EXTERNAL;

        CREATE TYPE order_state AS ENUM ('open', 'paid', 'sent', 'received');
        CREATE TABLE orders (
            id integer PRIMARY KEY,
            customer_id integer NOT NULL REFERENCES customers ON UPDATE CASCADE,
            state order_state NOT NULL DEFAULT 'open',
            total numeric(10, 2) NOT NULL DEFAULT 0,
            placed timestamptz NOT NULL DEFAULT now(),
            due date,
            tags text[] NOT NULL DEFAULT '{}'
        );
        ALTER TABLE orders REPLICA IDENTITY FULL;  -- so that events have the whole row as it was before

        CREATE TABLE order_lines (order_id integer NOT NULL, item text NOT NULL, pieces smallint NOT NULL);
        CREATE TABLE baskets (id integer PRIMARY KEY, since timestamp NOT NULL DEFAULT localtimestamp);

        INSERT INTO customers SELECT n, 'customer ' || n, repeat('Dear shop ' || n || ', ', 800) FROM generate_series(1, 8) n;
        INSERT INTO orders (id, customer_id, due, tags) SELECT n, n, current_date + n, '{old}' FROM generate_series(1, 3) n;
        INSERT INTO baskets (id) SELECT generate_series(1, 5);
    """)

# %% [markdown]
# The configuration is an ordinary one for Debezium's connector. The mirror needs two of its properties: `skipped.operations`, because by
# default truncates are not sent at all, and `replace.null.with.default`, because by default a null in a column with a default is sent as
# that default.

# %%
import httpx
from psycopg.conninfo import conninfo_to_dict

from workers.quickstart.embedded.wait import wait_until

place = conninfo_to_dict(DSN)
config = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "database.hostname": place["host"],
    "database.port": place["port"],
    "database.user": place["user"],
    "database.password": place.get("password", "unused"),
    "database.dbname": place["dbname"],
    "plugin.name": "pgoutput",
    "slot.name": "shop",
    "publication.name": "shop",
    "publication.autocreate.mode": "filtered",
    "schema.include.list": "public",
    "topic.prefix": "shop",
    "skipped.operations": "none",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.replace.null.with.default": "false",
}
answer = httpx.post(f"{CONNECT}/connectors", json={"name": "shop", "config": config}, timeout=60)
print(answer.status_code, answer.json()["name"])


def streaming() -> bool:
    """Whether the first rows are read and changes are followed."""
    return bool(httpx.get(f"{CONNECT}/connectors/shop/progress").json().get("phase") == "streaming")


wait_until(streaming, "the snapshot", 60, pause=0.1)
print(httpx.get(f"{CONNECT}/connectors/shop/status").json()["tasks"])

# %% [markdown]
# Now the shop is open. Every 50 ms a new order is placed, an item is added to an order, or an order is cancelled, paid, sent or received.

# %%
import random
import time
from decimal import Decimal

PRICES = {"tea": Decimal("4.20"), "mug": Decimal("12.50"), "pot": Decimal("39.00")}
NEXT = {"open": "paid", "paid": "sent", "sent": "received"}
chance = random.Random(7)
states = {1: "open", 2: "open", 3: "open"}  # of the orders under way
placed = 3

with psycopg.connect(DSN, autocommit=True) as shop:
    for moment in range(240):
        time.sleep(0.05)
        if moment % 4 == 0 or not states:
            placed += 1
            states[placed] = "open"
            row = (placed, chance.randint(1, 8), chance.randint(1, 9), chance.sample(["gift", "express", "abroad"], chance.randint(0, 2)))
            shop.execute("INSERT INTO orders (id, customer_id, due, tags) VALUES (%s, %s, current_date + %s, %s)", row)
            shop.execute("INSERT INTO baskets (id) VALUES (%s)", (placed + 10,))
            continue
        order, turn = chance.choice(list(states)), chance.random()
        if states[order] == "open" and turn < 0.5:
            item, pieces = chance.choice(list(PRICES)), chance.randint(1, 4)
            with shop.transaction():
                shop.execute("INSERT INTO order_lines VALUES (%s, %s, %s)", (order, item, pieces))
                shop.execute("UPDATE orders SET total = total + %s WHERE id = %s", (PRICES[item] * pieces, order))
        elif states[order] == "open" and turn < 0.6:
            shop.execute("DELETE FROM orders WHERE id = %s", (order,))
            del states[order]
        else:
            states[order] = NEXT[states[order]]
            shop.execute("UPDATE orders SET state = %s WHERE id = %s", (states[order], order))
            if states[order] == "received":
                del states[order]

print(f"{placed} orders were placed, {len(states)} of them are under way")

# %% [markdown]
# The replication slot shows when the worker has sent all committed changes.


# %%
def wait_for_worker() -> None:
    """Return when all that is committed is in Kafka."""
    with psycopg.connect(DSN, autocommit=True) as source:
        committed = source.execute("SELECT pg_current_wal_lsn()").fetchall()[0]

        def sent() -> bool:
            question = "SELECT 1 FROM pg_replication_slots WHERE slot_name = 'shop' AND confirmed_flush_lsn >= %s"
            return bool(source.execute(question, committed).fetchall())

        wait_until(sent, "the worker", 60, pause=0.1)


wait_for_worker()

# %% [markdown]
# ## Changes, typed
#
# This configuration works with `understudy-spark mirror --config mirror.toml` and with the functions that it calls. This page calls
# the functions. With `available-now` a mirror ends when it has read everything that was present at its start; otherwise it continues.

# %%
from workers.spark.jobs.mirror_config import read_config
from workers.spark.jobs.stream import session_of

(TABLES / "mirror.toml").write_text(
    """
    name = "shop"
    bootstrap = "${env:SHOP_KAFKA}"
    prefix = "shop"
    dsn = "${env:SHOP_DSN}"
    checkpoint = "${env:SHOP_TABLES}/mirror-checkpoint"
    trigger = "available-now"
    master = "local[2]"

    [sink]
    format = "delta"
    path = "${env:SHOP_TABLES}/mirror"
    """,
    encoding="utf-8",
)
mirror_config = read_config(TABLES / "mirror.toml")
spark = session_of(mirror_config, "notebook", "postgres")

# %% [markdown]
# `changes` returns the events of a topic as a DataFrame. The types come from the events; the job does not declare them.

# %%
from workers.spark.changes import changes

orders = changes(spark, KAFKA, "shop.public.orders").cache()
orders.select("op", "key", "before", "after", "source.committed", "source.lsn", "position.offset").printSchema()

# %% [markdown]
# Each event contains the row before and after the change. A query about changes is therefore one line: which updates raised an order's
# amount, and by how much?

# %%
raised = orders.where("op = 'u' and after.total > before.total")
raised.selectExpr(
    "key.id", "before.total as before", "after.total as after", "after.total - before.total as more", "after.tags", "source.committed"
).orderBy("position.offset").show(6, truncate=False)
print(f"{raised.count()} of {orders.count()} events raised an amount")

# %% [markdown]
# The same events by operation, over time:

# %% ![Events of the orders in each second, by operation: reads at the start, then inserts, updates and some deletes](pictures/events.svg)
from workers.lab.notebook.pictures import events_over_time

timed = orders.where("source is not null").selectExpr("op", "unix_millis(source.committed) as ms")
since = timed.selectExpr("op", "cast(floor((ms - min(ms) over ()) / 1000) as int) as second")
counted = since.groupBy("second", "op").count().orderBy("second", "op")
events_over_time(PICTURES / "events.svg", [tuple(line) for line in counted.collect()], "Events of shop.public.orders")

# %% [markdown]
# ## A mirror in Delta
#
# One stream reads all topics. Each batch prints what it did, and at intervals the stream prints how many records remain to be read.
# Spark spends most of the time of such a small batch on planning and compilation: [spark.md](spark.md#configuration) gives the cost.

# %%
from workers.spark.jobs.stream import run_mirror

run_mirror(mirror_config, spark)

# %% [markdown]
# `show` (`understudy-spark mirror --show 4`) prints each table beside the source's table. The first column says whether a row is equal on
# both sides.

# %%
from workers.spark.compare.show import show
from workers.spark.jobs.stream import mirrored_tables, place_of
from workers.spark.sinks import sink_of

mirror = sink_of(place_of(mirror_config), spark)
equal = show(spark, DSN, mirrored_tables(mirror_config, spark), mirror, rows=4)

# %% [markdown]
# The value of the orders, queried from PostgreSQL and from Delta:

# %% ![Value of the orders by state, in the source and in the mirror: each pair of bars is the same](pictures/order-value.svg)
from workers.lab.notebook.pictures import source_and_mirror

with psycopg.connect(DSN) as shop:
    of_source = shop.execute("SELECT state::text, sum(total)::float FROM orders GROUP BY state ORDER BY state").fetchall()
of_mirror = spark.sql(f"SELECT state, cast(sum(total) AS double) FROM delta.`{TABLES}/mirror/public/orders` GROUP BY state").collect()
source_and_mirror(PICTURES / "order-value.svg", dict(of_source), dict(map(tuple, of_mirror)), "Value of the orders", ("state", "euros"))

# %% [markdown]
# ## A key that moves, a new column, a truncate
#
# A plain upsert by key handles three changes wrongly. Customer 1 becomes customer 101, and the orders follow by `ON UPDATE CASCADE`. The
# orders get a new column. The baskets are emptied, and one is inserted again.

# %%
with psycopg.connect(DSN, autocommit=True) as shop:
    shop.execute("UPDATE customers SET id = 101 WHERE id = 1")
    shop.execute("ALTER TABLE orders ADD COLUMN wrapped boolean NOT NULL DEFAULT false")
    shop.execute("UPDATE orders SET wrapped = true WHERE 'gift' = ANY (tags)")
    shop.execute("TRUNCATE baskets")
    shop.execute("INSERT INTO baskets (id) VALUES (1000)")
wait_for_worker()

# %% [markdown]
# The move produces a delete of the old key, its tombstone, and an insert of the new key. The letter did not change, so PostgreSQL did not
# log it: the event marks it as `unavailable`.

# %%
customers = changes(spark, KAFKA, "shop.public.customers")
customers.where("key.id in (1, 101)").orderBy("position.timestamp", "position.partition", "position.offset").selectExpr(
    "op", "key.id", "after.name", "length(after.letter) as letter_length", "unavailable", "source.lsn"
).show(truncate=False)

# %% [markdown]
# The mirror continues where it ended. Customer 101 has the letter of customer 1, and the orders have the new column.

# %%
run_mirror(mirror_config, spark)
spark.sql(f"""
    SELECT id, name, length(letter), left(letter, 26) FROM delta.`{TABLES}/mirror/public/customers` WHERE id IN (1, 101)
""").show(truncate=False)
spark.sql(f"SELECT wrapped, count(*), sum(total) FROM delta.`{TABLES}/mirror/public/orders` GROUP BY wrapped ORDER BY wrapped").show()

# %% ![Rows of each table, in the source and in the mirror: each pair of bars is the same, and baskets have one row](pictures/rows.svg)
from psycopg import sql

tables = mirrored_tables(mirror_config, spark)
count = sql.SQL("SELECT count(*) FROM {}")
with psycopg.connect(DSN) as shop:
    in_source = {table.name: shop.execute(count.format(sql.Identifier(table.name))).fetchall()[0][0] for table in tables}
in_mirror = {table.name: spark.read.format("delta").load(f"{TABLES}/mirror/public/{table.name}").count() for table in tables}
source_and_mirror(PICTURES / "rows.svg", in_source, in_mirror, "Rows after the truncate", ("table", "rows"))

# %% [markdown]
# ## A history
#
# `understudy-spark history` makes another kind of table from the same topics. It contains every state that a row has had, with the times
# between which the state was valid. It has its own checkpoint and folder.

# %%
from dataclasses import replace

from workers.spark.jobs.stream import run_history

history_sink = replace(mirror_config.sink, path=f"{TABLES}/history")
history_config = replace(mirror_config, name="shop-history", checkpoint=f"{TABLES}/history-checkpoint", sink=history_sink)
run_history(history_config, spark)

# %% [markdown]
# One order of customer 1, from its first state to its present one. The move of the customer began its last version.

# %%
versions = spark.read.format("delta").load(f"{TABLES}/history/public/orders_history")
of_one = versions.where("id = 6").orderBy("version")
of_one.select("id", "state", "total", "customer_id", "op", "valid_from", "valid_to").show(truncate=False)

# %% [markdown]
# Some orders side by side. A bar is a version, and its colour is the order's state. A new version of the same state has another amount.
# An order whose line ends was cancelled.

# %% ![A line of bars for each of 16 orders, from open to paid, sent and received; three of the lines end early](pictures/order-states.svg)
from workers.lab.notebook.pictures import timeline

from_first = "(unix_millis({}) - (SELECT min(unix_millis(valid_from)) FROM versions)) / 1000"
versions.where("id BETWEEN 15 AND 30").createOrReplaceTempView("versions")
spans = spark.sql(f"""
    SELECT concat('order ', id), state, {from_first.format("valid_from")}, {from_first.format("valid_to")}
    FROM versions ORDER BY id, version
""").collect()
timeline(PICTURES / "order-states.svg", [tuple(line) for line in spans], until=11, title="States of the orders 15 to 30")

# %% [markdown]
# ## Is the mirror right?
#
# `verify` reads both sides in parallel and compares checksums. It reads the source in one snapshot.

# %%
from workers.spark.compare.command import run as verify

code = verify(spark, DSN, tables, mirror.read)

# %% [markdown]
# Now someone changes the mirror directly, without the pipeline: one order gets another amount, and one customer is deleted.

# %%
spark.sql(f"UPDATE delta.`{TABLES}/mirror/public/orders` SET total = total + 100 WHERE id = 4")
spark.sql(f"DELETE FROM delta.`{TABLES}/mirror/public/customers` WHERE id = 8")
code = verify(spark, DSN, tables, mirror.read)

# %% [markdown]
# `verify` names both keys. An [incremental snapshot](signals.md) of the two tables would correct them. Here an update of the two rows
# corrects them: its event contains the whole row again, and also the letter, because the update changes it.

# %%
with psycopg.connect(DSN, autocommit=True) as shop:
    shop.execute("UPDATE orders SET state = state WHERE id = 4")
    shop.execute("UPDATE customers SET letter = letter || 'Yours.' WHERE id = 8")
wait_for_worker()
run_mirror(mirror_config, spark)
code = verify(spark, DSN, tables, mirror.read)

# %%
orders.unpersist()
spark.stop()
