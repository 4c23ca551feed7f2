"""A scenario: actions on a database and a connector, read from YAML and run against any Connect worker.

The format is described in ``tests/parity/README.md``. A run against the real connectors is stored as a recording
(:mod:`.record`). The tests run the scenario against ours and compare the two (:mod:`.recording`).
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import yaml
from aiokafka import AIOKafkaProducer
from psycopg import AsyncConnection

from .recording import Compare, Recording, scrub_rest, topic_records
from .registered_avro import RegisteredAvro
from .sql_statements import statements
from .topics import TopicReader, topic_reader
from .until import SECONDS, until

LAST_S: Final = 60.0
"""The most time that the last records of a scenario may take after its last step."""
FAILURES_S: Final = 1.0
"""How often a run that waits for its slots looks whether a task has failed."""
BASE: Final = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "topic.prefix": "{p}",
    "plugin.name": "pgoutput",
    "slot.name": "{slot}",
    "publication.name": "{publication}",
}


class ScenarioError(Exception):
    """A scenario that is written wrongly, or that did not come to its end; the message says where."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One YAML file."""

    name: str
    about: str
    setup: str
    config: Mapping[str, str | None]
    steps: Sequence[Mapping[str, Any]]
    compare: Compare
    before: Sequence[Mapping[str, Any]] = ()
    """Steps after ``setup``, before the connector exists."""
    streams: bool = True
    """The connector comes to stream: its slot is waited for before the first step."""
    fixed_prefix: str = ""
    """The topic prefix of every run, so that keys with their schemas fall into the same partitions. No other scenario may have it."""
    pg: str = ""
    """Servers whose result is the recorded one, as the mark ``pg`` takes it; empty: all."""
    once: bool = False
    """The server's version does not matter: one available server is enough."""
    registry: bool = False
    """The connectors use a schema registry. What they register is compared, and Avro is compared by its schema and values."""
    variants: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """Connectors that run side by side on the same changes, by their names: what each adds to ``config``. Empty: one connector."""

    @classmethod
    def load(cls, file: Path) -> Scenario:
        """Raises ScenarioError for a key that means nothing."""
        # Each process of the tests reads all files, with libyaml in 0.1 s instead of 1 s.
        found = yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        known = {"about", "setup", "before", "config", "steps", "compare", "streams", "fixed_prefix", "pg", "once", "registry", "variants"}
        if unknown := found.keys() - known:
            raise ScenarioError(f"{file.name}: {', '.join(sorted(unknown))} mean nothing; a scenario has {', '.join(sorted(known))}")
        return cls(
            file.stem,
            found["about"],
            found.get("setup", ""),
            found.get("config") or {},
            found.get("steps") or [],
            Compare(**found.get("compare", {})),
            found.get("before") or (),
            found.get("streams", True),
            found.get("fixed_prefix", ""),
            found.get("pg", ""),
            found.get("once", False),
            found.get("registry", False),
            found.get("variants") or {},
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scenario runs: a worker, a broker, and an empty database that both this process and the worker reach."""

    url: str
    bootstrap: str
    host: str
    port: int
    user: str
    database: str
    registry: str = ""
    """The address of Apicurio's schema registry, without a path. Only scenarios that use one need it."""

    @property
    def dsn(self) -> str:
        return f"host={self.host} port={self.port} user={self.user} dbname={self.database}"


@dataclass(slots=True)
class Play:
    """One run. ``recorded`` has the expected records. It is None while recording: then silence marks the end."""

    scenario: Scenario
    place: Place
    tag: str
    recorded: Recording | None
    reader: TopicReader
    client: httpx.AsyncClient
    connection: AsyncConnection[Any]
    folder: Path
    """An empty folder that the worker reads and writes too."""
    resources: AsyncExitStack
    """What is to be closed in the end: the sessions that a step opened."""
    registered: RegisteredAvro | None = None
    """What the registry holds, if the scenario uses one."""
    sessions: dict[str, AsyncConnection[Any]] = field(default_factory=dict)
    rest: list[dict[str, Any]] = field(default_factory=list)
    marks: list[dict[str, int]] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)
    """The walsenders that streamed when a restart was asked for."""
    variant: str = ""
    """What distinguishes the names of the connector that is being created."""
    _created: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The configuration of each variant's connector."""

    @property
    def connectors(self) -> dict[str, Mapping[str, str | None]]:
        """What each connector's name adds to the tag, and what the connector adds to the configuration."""
        return {f"_{name}": changes for name, changes in self.scenario.variants.items()} or {"": {}}

    def fill(self, value: Any) -> Any:
        """Insert the run's names, which ``tests/parity/README.md`` lists."""
        if isinstance(value, str):
            for name in ("name", "slot", "publication"):
                value = value.replace(f"{{{name}}}", self.tag + self.variant)
            place = self.place
            puts = (("bootstrap", place.bootstrap), ("dir", str(self.folder)), ("db", place.database), ("registry", place.registry))
            server = (("host", place.host), ("port", str(place.port)), ("user", place.user))
            for name, put in (*puts, *server):
                value = value.replace(f"{{{name}}}", put)
            return value.replace("{p}", self.prefix + self.variant)
        if isinstance(value, Mapping):
            return {self.fill(key): self.fill(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.fill(part) for part in value]
        return value

    def config(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        """The connector's configuration: the base, with what the scenario sets or (null) removes."""
        place = self.place
        database = {"hostname": place.host, "port": str(place.port), "user": place.user, "password": "postgres", "dbname": place.database}
        all_of = {**BASE, **{f"database.{key}": value for key, value in database.items()}, **changes}
        filled: dict[str, str] = self.fill({key: value for key, value in all_of.items() if value is not None})
        return filled

    @property
    def prefix(self) -> str:
        """The topic prefix. Offsets remain under the connector's name, which differs in every run."""
        return self.scenario.fixed_prefix or self.tag

    async def run(self) -> Recording:
        """Play every step; the recording of what came."""
        await self._execute(self.scenario.setup)
        await self._act(self.scenario.before, "before")
        for variant, changes in self.connectors.items():
            self.variant = variant
            self._created[variant] = config = self.config({**self.scenario.config, **changes})
            answer = await self.client.post("/connectors", json={"name": self.tag + self.variant, "config": config})
            if answer.status_code != httpx.codes.CREATED:
                raise ScenarioError(f"{self.scenario.name}: connector {self.variant} was refused: {answer.text}")
        try:
            await self._streaming()
        except TimeoutError as error:
            raise ScenarioError(f"{self.scenario.name}: {error}") from error
        await self._act(self.scenario.steps, "step")
        if self.scenario.variants and (failures := await self._failures()):
            # A task that failed has brought a part only, which proves little.
            raise ScenarioError(f"{self.scenario.name}: {failures}")
        return await self._recording()

    async def _act(self, steps: Sequence[Mapping[str, Any]], where: str) -> None:
        for number, step in enumerate(steps, 1):
            [(kind, argument)] = step.items()
            act = getattr(self, f"_step_{kind}", None)
            if act is None:
                raise ScenarioError(f"{self.scenario.name}, {where} {number}: {kind} is no kind of step")
            try:
                await act(argument)
            except (TimeoutError, psycopg.Error) as error:
                raise ScenarioError(f"{self.scenario.name}, {where} {number} ({kind}): {error} {await self._failures()}") from error

    async def clean(self) -> None:
        """Remove the connector, its slot and its topics."""
        for variant in self.connectors:
            await self.client.delete(f"/connectors/{self.tag}{variant}")

        async def free() -> bool:
            where = "FROM pg_replication_slots WHERE database = current_database()"
            await self.connection.execute(f"SELECT pg_drop_replication_slot(slot_name) {where} AND NOT active".encode())
            return await self._rows(f"SELECT 1 {where}") == []

        await until(free, lambda: f"the slots of {self.place.database} to be free")

        # A task that was just ended may have a topic's creation under way: look again until none is left.
        async def gone() -> bool:
            topics = await self._topics()
            await self.reader.delete(topics)
            return not topics

        await until(gone, lambda: f"the topics of {self.tag} to be gone")

    async def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return await (await self.connection.execute(query.encode())).fetchall()

    async def _execute(self, sql: str, connection: AsyncConnection[Any] | None = None) -> None:
        for statement in statements(self.fill(sql)):
            await (connection or self.connection).execute(statement.encode())

    async def _step_sql(self, sql: str) -> None:
        """Run each statement in its own transaction."""
        await self._execute(sql)

    async def _step_tx(self, sql: str) -> None:
        """All statements in one transaction."""
        async with self.connection.transaction():
            await self._execute(sql)

    async def _step_copy(self, argument: Mapping[str, str]) -> None:
        """``COPY … FROM STDIN``: many rows in few WAL records."""
        async with self.connection.cursor() as cursor, cursor.copy(f"COPY {argument['table']} FROM STDIN".encode()) as copy:
            await copy.write(argument["rows"])

    async def _step_session(self, argument: Mapping[str, str]) -> None:
        """``{name, sql}``: statements in a separate session, which stays open, so that a transaction can continue in the next step."""
        name = argument["name"]
        if name not in self.sessions:
            opened = await AsyncConnection.connect(self.place.dsn, autocommit=True)
            self.sessions[name] = await self.resources.enter_async_context(opened)
        await self._execute(argument["sql"], self.sessions[name])

    async def _step_row(self, query: str) -> None:
        """Wait until the query finds a row."""

        async def found() -> bool:
            return await self._rows(self.fill(query)) != []

        await until(found, lambda: f"a row of {query}")

    async def _step_produce(self, argument: Mapping[str, Any]) -> None:
        """``{topic, key, value}``: one record. A value that is no text is written as JSON; no key, no value: null."""
        record = self.fill(argument)
        key, value = record.get("key"), record.get("value")
        text = value if isinstance(value, str | None) else json.dumps(value)
        async with AIOKafkaProducer(bootstrap_servers=self.place.bootstrap) as producer:
            await producer.send_and_wait(record["topic"], key=key and key.encode(), value=None if text is None else text.encode())

    async def _step_file(self, argument: Mapping[str, str]) -> None:
        """``{name, text}``: append the text to a file of the folder ``{dir}``."""
        with (self.folder / argument["name"]).open("a", encoding="utf-8") as file:
            file.write(self.fill(argument["text"]))

    async def _step_emptied(self, name: str) -> None:
        """Wait until the file of the folder ``{dir}`` is empty."""

        async def emptied() -> bool:
            return (self.folder / name).stat().st_size == 0

        await until(emptied, lambda: f"{name} to be empty")

    async def _step_wait(self, argument: Mapping[str, Any]) -> None:
        """``{topic, count}``, with ``text`` only the records whose value holds it: wait for so many."""
        wanted: dict[str, Any] = self.fill(argument)
        topic, text = wanted["topic"], wanted.get("text", "").encode()
        found = 0

        async def come() -> bool:
            nonlocal found
            raws = await self.reader.read(topic) if text else ()
            found = sum(text in (raw.value or b"") for raw in raws) if text else sum((await self.reader.ends(topic)).values())
            return found >= int(wanted.get("count", 1))

        await until(come, lambda: f"{argument}; there are {found}")

    async def _step_offset(self, argument: Mapping[str, str]) -> None:
        """``{has}`` or ``{lacks}``: wait until the stored offset has this text or no longer has it; the offset is compared."""
        path = f"/connectors/{self.tag}/offsets"
        text = ""

        async def stored() -> bool:
            nonlocal text
            # The spacing of an answer means nothing.
            text = json.dumps((await self.client.get(path)).json(), separators=(",", ":"))
            return argument["has"] in text if "has" in argument else '"lsn' in text and argument["lacks"] not in text

        await until(stored, lambda: f"an offset with {argument}; it is {text}")
        # Whether the last message's transaction was already over is chance, and the reference keeps an offset in a hash table.
        text = re.sub(r'"messageType":"\w+"', '"messageType":"ANY"', text)
        body = json.loads(scrub_rest(text, self.tag, self.place.database))["offsets"]
        self.rest.append({"call": "the offset", "body": json.loads(json.dumps(body, sort_keys=True))})

    async def _step_rest(self, argument: Mapping[str, Any]) -> None:
        """One call; its status, and with ``answer: true`` its body, is compared."""
        call: dict[str, Any] = self.fill(argument)
        method = call.get("method", "GET")
        body = call.get("body")
        if "/restart" in call["path"]:
            # The answer comes before the task ends: what streams now is no sign that it has begun again.
            self.ended = {pid for (pid,) in await self._rows("SELECT active_pid FROM pg_replication_slots WHERE active")}
        if isinstance(body, dict) and "$changes" in body:
            body = self.config({**self.scenario.config, **body["$changes"]})
        answer = await self.client.request(method, call["path"], json=body)
        reported: dict[str, Any] = {"call": f"{method} {argument['path']}", "status": answer.status_code}
        if call.get("answer"):
            reported["body"] = json.loads(scrub_rest(answer.text, self.tag, self.place.database)) if answer.text else None
        self.rest.append(reported)

    async def _step_state(self, state: str) -> None:
        """Wait until the connector and its tasks are in this state."""

        async def reached(variant: str) -> bool:
            answer = await self.client.get(f"/connectors/{self.tag}{variant}/status")
            if answer.status_code != httpx.codes.OK:
                return False
            status = answer.json()
            tasks = {task["state"] for task in status["tasks"]}
            return tasks == {state} if state != "STOPPED" else status["connector"]["state"] == state and not tasks

        for variant in self.connectors:
            await until(partial(reached, variant), f"the connector {variant} to be {state}".__str__)

    async def _step_streaming(self, _argument: object) -> None:
        """Wait until the task runs and has its slot: a snapshot is over then."""
        await self._streaming()

    async def _step_free(self, _argument: object) -> None:
        """Wait until the slot is inactive."""

        async def free() -> bool:
            return await self._rows("SELECT 1 FROM pg_replication_slots WHERE active AND database = current_database()") == []

        await until(free, lambda: "the slot to be free")

    async def _step_settle(self, seconds: float) -> None:
        """All that comes has come: while recording when nothing came for so long, else when as many records are there."""
        if self.recorded is None:
            self.marks.append(dict(sorted((await self._quiet(seconds)).items())))
            return
        wanted = self.recorded.marks[len(self.marks)]
        await self._arrived(wanted, SECONDS)
        self.marks.append(wanted)

    async def _arrived(self, wanted: Mapping[str, int], seconds: float) -> None:
        """Wait until so many records are in the topics."""
        counts: dict[str, int] = {}

        async def reached() -> bool:
            nonlocal counts
            counts = await self._counts()
            return all(counts.get(topic, 0) >= count for topic, count in wanted.items())

        await until(reached, lambda: f"{wanted} records; there are {counts}", seconds)

    async def _streaming(self) -> None:
        await self._step_state("RUNNING")
        if self.scenario.streams:
            asked = time.monotonic()

            async def active() -> bool:
                nonlocal asked
                # A slot is active also while it is made, before the snapshot; a TRUNCATE at that time empties what the snapshot reads.
                query = (
                    "SELECT r.pid FROM pg_replication_slots s JOIN pg_stat_replication r ON r.pid = s.active_pid"
                    " WHERE NOT s.temporary AND s.database = current_database() AND r.state <> 'startup'"
                )
                if len({pid for (pid,) in await self._rows(query)} - self.ended) >= len(self.connectors):
                    return True
                # With many variants each look would ask the worker for many states.
                if time.monotonic() - asked > FAILURES_S:
                    asked = time.monotonic()
                    if failures := await self._failures():
                        raise ScenarioError(f"{self.scenario.name}: {failures}")
                return False

            await until(active, lambda: "the slot to be in use")

    async def _failures(self) -> list[str]:
        """What the failed tasks say."""
        found = []
        for variant in self.connectors:
            status = (await self.client.get(f"/connectors/{self.tag}{variant}/status")).json()
            traces = [task["trace"] for task in status.get("tasks", ()) if task["state"] == "FAILED"]
            found += [f"the task {variant} failed: {trace[:2000]}" for trace in traces]
        return found

    async def _topics(self) -> dict[str, list[int]]:
        """The run's topics, with the numbers of their partitions."""
        return {topic: numbers for topic, numbers in sorted((await self.reader.topics()).items()) if self.prefix in topic}

    async def _counts(self) -> dict[str, int]:
        """Records by topic, the run's names taken out; for ``last`` the number of different keys."""
        counts: dict[str, int] = {}
        topics = {name: at for name, at in (await self._topics()).items() if not self.scenario.compare.ignores(self._named(name))}
        if self.scenario.compare.last:
            return {self._named(topic): len({raw.key for raw in await self.reader.read(topic)}) for topic in topics}
        for (topic, _), end in (await self.reader.ends_of(topics)).items():
            counts[self._named(topic)] = counts.get(self._named(topic), 0) + end
        return counts

    def _variant_of(self, topic: str) -> str:
        """The variant whose connector has written to the topic: the longest name that fits."""
        return max((variant for variant in self.connectors if f"{self.prefix}{variant}" in topic), key=len)

    def _named(self, topic: str) -> str:
        return topic.replace(self.prefix, "PREFIX")

    async def _quiet(self, seconds: float) -> dict[str, int]:
        """Wait until nothing has come for so long; the counts."""
        last: dict[str, int] = {}
        since = time.monotonic()

        async def still() -> bool:
            nonlocal last, since
            now = await self._counts()
            if now != last:
                last, since = now, time.monotonic()
            return time.monotonic() - since >= seconds

        await until(still, lambda: f"{self.tag} to be quiet")
        return last

    async def _recording(self) -> Recording:
        if self.recorded is not None:
            # The last mark may be from before the last records. The comparison shows those that do not come.
            with suppress(TimeoutError):
                await self._arrived({topic: len(records) for topic, records in self.recorded.topics.items()}, LAST_S)
        # A surplus record would follow the expected ones directly. A stopping connector sends what it has read.
        await self._quiet(2.0 if self.recorded is None else 0.2)
        compare = self.scenario.compare
        topics: dict[str, Any] = {}
        settings: dict[str, dict[str, str]] = {}
        for topic, numbers in (await self._topics()).items():
            named = self._named(topic)
            if compare.ignores(named):
                continue
            raws = await self.reader.read(topic)
            if self.registered is not None:
                raws = [await self.registered.readable(raw, self._created[self._variant_of(topic)]) for raw in raws]
            topics[named] = topic_records(raws, compare, self.prefix, self.place.database)
            if compare.settings:
                settings[named] = {"partitions": str(len(numbers)), **await self.reader.settings(topic, compare.settings)}
        if self.registered is not None:
            subjects = await self.registered.subjects(self.prefix)
            settings["registry"] = {self._named(name): self._named(versions) for name, versions in subjects.items()}
        return Recording(self.marks, self.rest, topics, settings)


@asynccontextmanager
async def _play(scenario: Scenario, place: Place, tag: str, recorded: Recording | None) -> Any:
    async with (
        topic_reader(place.bootstrap) as reader,
        # Not even a client without TLS is made in less than 20 ms, unless it is told not to read the certificates that it would trust.
        httpx.AsyncClient(base_url=place.url, timeout=100, verify=False) as client,
        await AsyncConnection.connect(place.dsn, autocommit=True) as connection,
        AsyncExitStack() as resources,
    ):
        folder = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="parity-")))
        registered = None
        if scenario.registry:
            registered = RegisteredAvro(await resources.enter_async_context(httpx.AsyncClient(base_url=place.registry, verify=False)))
        play = Play(scenario, place, tag, recorded, reader, client, connection, folder, resources, registered)
        try:
            yield play
        finally:
            await play.clean()


async def play(scenario: Scenario, place: Place, tag: str, recorded: Recording | None = None) -> Recording:
    """Play the scenario under the names that ``tag`` gives, and clean up; what came. Raises ScenarioError."""
    async with _play(scenario, place, tag, recorded) as run:
        recording: Recording = await run.run()
        return recording
