"""The configurations in docs/examples, POSTed as they are but for the addresses and the login of the test's servers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import httpx

from tests.fix_pg import Database
from tests.fix_worker import Worker
from tests.support.connector import Connector
from tests.support.project import DOCS

REGISTRY: Final = "http://schema-registry:8081"
"""The registry's address in the examples."""


class Tutorial(Connector):
    """A connector of a tutorial. Its slot has the default name."""

    @property
    def slot_name(self) -> str:
        return "debezium"


@contextmanager
def registered(example: str, worker: Worker, database: Database, registry: str = "", **changes: str) -> Iterator[Tutorial]:
    """POST ``docs/examples/<example>.json``, wait until the connector streams, and delete it at the end.

    ``changes`` are added to the configuration, with underscores for the dots of their names.
    """
    document = json.loads((DOCS / "examples" / f"{example}.json").read_text(encoding="utf-8"))
    config: Mapping[str, str] = {
        **{name: value.replace(REGISTRY, registry) for name, value in document["config"].items()},
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": "unused",
        "database.dbname": database.name,
        **{name.replace("_", "."): value for name, value in changes.items()},
    }
    answer = worker.rest("POST", "/connectors", {"name": document["name"], "config": config})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    tutorial = Tutorial(worker, database, document["name"])
    try:
        tutorial.await_phase("streaming")
        yield tutorial
    finally:
        tutorial.delete()
