"""A connector on a worker under test: its configuration, and waits for what it says and does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tests.fix_pg import Database
from tests.fix_worker import Worker
from workers.quickstart.embedded.wait import wait_until

from .topics import Raw, read_to_end

SECONDS = 180.0


@dataclass(slots=True)
class Connector:
    """A connector whose topic prefix, slot and publication bear its name."""

    worker: Worker
    database: Database
    name: str

    @property
    def slot_name(self) -> str:
        return self.name

    def config(self, changes: Mapping[str, str] | None = None) -> dict[str, str]:
        """Plain JSON without schemas, and quick retries and status updates; ``changes`` over it."""
        converter = "org.apache.kafka.connect.json.JsonConverter"
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": self.database.host,
            "database.port": str(self.database.port),
            "database.user": self.database.user,
            "database.password": "unused",
            "database.dbname": self.database.name,
            "topic.prefix": self.name,
            "plugin.name": "pgoutput",
            "slot.name": self.name,
            "publication.name": self.name,
            "key.converter": converter,
            "key.converter.schemas.enable": "false",
            "value.converter": converter,
            "value.converter.schemas.enable": "false",
            "status.update.interval.ms": "500",
            "retriable.restart.connector.wait.ms": "500",
            **(changes or {}),
        }

    def post(self, changes: Mapping[str, str] | None = None) -> None:
        """Create it; it need not come to run."""
        answer = self.worker.rest("POST", "/connectors", {"name": self.name, "config": self.config(changes)})
        assert answer.status_code == httpx.codes.CREATED, answer.text

    def drop_slot(self) -> None:
        """Drop the unused slot."""
        self.database.execute(f"SELECT pg_drop_replication_slot('{self.slot_name}')")

    def create(self, changes: Mapping[str, str] | None = None) -> None:
        """Create it and wait until it streams."""
        self.post(changes)
        self.await_phase("streaming")

    def put(self, verb: str) -> None:
        """``pause``, ``resume`` or ``stop``."""
        answer = self.worker.rest("PUT", f"/connectors/{self.name}/{verb}")
        assert answer.is_success, answer.text

    def stop(self) -> None:
        """Stop the connector and wait until it has released the slot."""
        self.put("stop")
        self.worker.await_state(self.name, "STOPPED", tasks=0)
        self.await_free()

    def delete(self) -> None:
        """Remove it, and its slot when it left one."""
        assert self.worker.rest("DELETE", f"/connectors/{self.name}").is_success
        self.await_free()
        self.database.execute(f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{self.slot_name}'")

    def progress(self) -> dict[str, Any]:
        found: dict[str, Any] = self.worker.rest("GET", f"/connectors/{self.name}/progress").json()
        return found

    def await_phase(self, phase: str) -> None:
        """Wait for the phase; the snapshot's counts only when it has announced itself in the offsets and knows its tables."""

        def look() -> bool:
            status = self.worker.rest("GET", f"/connectors/{self.name}/status").json()
            failed = [task["trace"] for task in status.get("tasks", ()) if task["state"] == "FAILED"]
            assert not failed, failed[0]
            now = self.progress()
            return now.get("phase") == phase and (phase != "snapshot" or bool(now.get("tables")))

        wait_until(look, lambda: f"{self.name} to be in phase {phase}: {self.progress()}\n{self.worker.log[-6000:]}", SECONDS)

    def trace(self) -> str:
        """Wait until the task has failed; the first line of what it says."""

        def look() -> str | None:
            status = self.worker.rest("GET", f"/connectors/{self.name}/status").json()
            return next((task["trace"] for task in status.get("tasks", ()) if task["state"] == "FAILED"), None)

        found = wait_until(look, lambda: f"{self.name} to fail\n{self.worker.log[-6000:]}", SECONDS)
        return found.splitlines()[0]

    def offset(self) -> dict[str, Any]:
        """The stored offset; empty when there is none."""
        [*offsets] = self.worker.rest("GET", f"/connectors/{self.name}/offsets").json()["offsets"]
        assert all(entry["partition"] == {"server": self.name} for entry in offsets), offsets
        found: dict[str, Any] = offsets[0]["offset"] if offsets else {}
        return found

    async def stored(self) -> list[dict[str, Any]]:
        """All offsets that the worker's offset topic holds for the connector, oldest first."""
        key = json.dumps([self.name, {"server": self.name}], separators=(",", ":")).encode()
        return [parsed(raw.value) for raw in await self.raw(f"{self.worker.group}-offset") if raw.key == key]

    def slot(self) -> dict[str, Any]:
        """The slot as the server shows it; empty when there is none."""
        rows = self.database.execute(f"SELECT to_jsonb(s)::text FROM pg_replication_slots s WHERE slot_name = '{self.slot_name}'")
        found: dict[str, Any] = json.loads(str(rows[0][0])) if rows else {}
        return found

    def await_free(self) -> None:
        """Wait until the slot is inactive or gone."""
        condition = f"NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '{self.slot_name}' AND active)"
        self.database.wait_for(condition, lambda: f"slot {self.slot_name} to be free", SECONDS)

    def lsn(self) -> str:
        """The end of the WAL."""
        [(lsn,)] = self.database.execute("SELECT pg_current_wal_insert_lsn()::text")
        return str(lsn)

    def await_confirmed(self, lsn: str) -> None:
        """Wait until the slot is confirmed up to ``lsn``: everything before it is in Kafka then, and so is the offset."""
        self.database.wait_for(
            f"EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '{self.slot_name}' AND confirmed_flush_lsn >= '{lsn}')",
            lambda: f"slot {self.slot_name} to be confirmed up to {lsn}: {self.slot()}\n{self.worker.log[-6000:]}",
            SECONDS,
        )

    async def events(self, table: str) -> list[tuple[Any, Any]]:
        """All keys and values of the table's topic, partition after partition."""
        topic = f"{self.name}.{table}"
        return [(parsed(raw.key), parsed(raw.value)) for raw in await self.raw(topic)]

    async def raw(self, topic: str) -> list[Raw]:
        return await read_to_end(self.worker.bootstrap, topic)

    async def seen(self, table: str) -> list[tuple[str, Any]]:
        """Operation and the first column's value of each event; tombstones left out."""
        found = []
        for _, value in await self.events(table):
            if value is not None:
                row = value["before"] if value["op"] == "d" else value["after"]
                found.append((value["op"], next(iter(row.values())) if row else None))
        return found


def parsed(data: bytes | None) -> Any:
    return None if data is None else json.loads(data)
