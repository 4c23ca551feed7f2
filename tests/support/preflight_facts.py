"""The facts of a database that fits its connector, and what is found where they are changed."""

from __future__ import annotations

from dataclasses import replace

from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.preflight.facts import Facts, Publication, Role, Server, Table
from connector.preflight.requirements import Wish
from connector.preflight.rules import judge
from connector.start.decision import SlotState
from connector.start.publication_sql import PublicationState

CONFIG = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "shop",
    "database.dbname": "shop",
    "topic.prefix": "shop",
    "plugin.name": "pgoutput",
    "slot.name": "s",
    "publication.name": "p",
}
SERVER = Server(version=160000, wal_level="logical", standby=False, max_slots=10, slots=1, pooled=False)
ROLE = Role(name="shop", superuser=False, replication=True, creates=True, database="shop")
ORDERS = Table(1, "public", "orders", "r", "d", keyed=True, logged=True, readable=True, reachable=True, owned=True)
ITEMS = replace(ORDERS, oid=2, table="items")
SLOT = SlotState("s", "pgoutput", True, True, "shop", False, "", 1, 1, "reserved")


def listing(*listed: Table, all_tables: bool = False, schemas: tuple[str, ...] = ()) -> PublicationState:
    names = frozenset((table.schema, table.table) for table in listed)
    return PublicationState(all_tables, names, names, frozenset(schemas))


PUBLICATION = Publication(
    state=listing(ORDERS, ITEMS),
    operations=frozenset({"insert", "update", "delete", "truncate"}),
    owned=True,
    tables=frozenset({1, 2}),
)
GOOD = Facts(SERVER, ROLE, publication=PUBLICATION, tables=(ORDERS, ITEMS))


def found(facts: Facts, **config: str) -> list[tuple[str, bool, str]]:
    settings = {**CONFIG, **{name.replace("__", "."): value for name, value in config.items()}}
    return [(finding.key, finding.warning, finding.text) for finding in judge(Wish(Selection.of(parse(settings)[0])), facts)]
