"""Random lives of a connector, the same on both workers. After each step both must reach the same state."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import psycopg

from .call import JSON, Answer, Call
from .configurations import CONNECTOR
from .validations import Difference

_PATIENCE_S: Final = 20.0
_PAUSE_S: Final = 0.1
_SETTLED_POLLS: Final = 4
"""So often in a row both workers must answer the same."""
_PASSING: Final = {"UNASSIGNED", "RESTARTING"}
_NAME: Final = "fuzzrest-life"
_FAILING: Final = {
    "transforms": "f",
    "transforms.f.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.f.field": "none",
}
_CHANGES: Final[tuple[dict[str, Any], ...]] = (
    {"tombstones.on.delete": "false"},
    {"tombstones.on.delete": None},
    {"unknown": "x"},
    {"unknown": None},
    {"decimal.handling.mode": "wrong"},
    {"decimal.handling.mode": "string"},
    {"tasks.max": "2"},
    {"tasks.max": 1},
    {"tasks.max": "0"},
    {"name": "fuzzrest-life"},
    {"connector.class": None},
    {"slot.name": "fuzzrest-bad"},
    {"database.dbname": "fuzzrest_none"},
    {"errors.tolerance": "all"},
    {},
    dict(_FAILING),
    dict.fromkeys(_FAILING),
)
_MISSING: Final = (None, "RUNNING", "PAUSED", "STOPPED")


@dataclass(frozen=True, slots=True)
class Step:
    """One call, with ``{slot}`` and the like in its body; or a statement for the database."""

    method: str
    path: str
    body: Any = None

    def __str__(self) -> str:
        return f"{self.method} {self.path}" + ("" if self.body is None else f" {json.dumps(self.body)}")


@dataclass(frozen=True, slots=True)
class Side:
    """A worker, and what is its own in PostgreSQL and Kafka."""

    url: str
    tag: str
    host: str
    port: int
    user: str
    password: str

    @property
    def own(self) -> dict[str, str]:
        """Names that no two sides share."""
        return {"slot": f"fuzzrest_{self.tag}", "prefix": f"fuzzrest_p_{self.tag}", "database": f"fuzzrest_{self.tag}"}

    @property
    def base(self) -> dict[str, str]:
        """A configuration that works."""
        return {
            "connector.class": CONNECTOR,
            "database.hostname": self.host,
            "database.port": str(self.port),
            "database.user": self.user,
            "database.password": self.password,
            "database.dbname": self.own["database"],
            "topic.prefix": self.own["prefix"],
            "plugin.name": "pgoutput",
            "slot.name": self.own["slot"],
            "publication.name": self.own["slot"],
            "publication.autocreate.mode": "filtered",
            "table.include.list": "public.t",
        }

    def send(self, step: Step) -> Answer:
        """Make the call; again where the reference's group is in the middle of a rebalance."""
        end = time.monotonic() + _PATIENCE_S
        body = None if step.body is None else json.dumps(self._filled(step.body)).encode()
        while True:
            answer = Call(step.method, step.path, body, JSON if body is not None else ()).send(self.url)
            if answer.status != 409 or not re.search(r"rebalanc|stale", str(answer.json)) or time.monotonic() > end:
                return answer
            time.sleep(_PAUSE_S)

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            filled = {self._filled(key): self._filled(each) for key, each in value.items() if key != "$base"}
            if "$base" not in value:
                return filled
            return {name: each for name, each in {**self.base, **filled}.items() if each is not None}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if isinstance(value, str):
            for name, text in self.own.items():
                value = value.replace("{" + name + "}", text)
        return value

    def plain(self, value: Any, key: str = "") -> Any:
        """The value without what no two workers share."""
        if isinstance(value, dict):
            if key == "offset":
                # Positions and times differ, and the own offset follows the server's keepalives.
                return sorted(set(value) & {"lsn", "ts_usec", "mine"})
            return {self.plain(name): self.plain(each, name) for name, each in value.items()}
        if isinstance(value, list):
            plain = [self.plain(each) for each in value]
            return sorted(plain, key=str) if key == "offsets" else plain
        if isinstance(value, str):
            if key in {"trace", "worker_id"}:
                return key
            for name, text in self.own.items():
                value = value.replace(text, "{" + name + "}")
            # The configuration that the message shows has the order of a hash table, and here no secrets.
            value = re.sub(r"\{[^{}]*(\{\w+\}[^{}]*)*\} contains no connector type", "contains no connector type", value)
        return value


def random_life(random: Random) -> list[Step]:
    """Steps from the creation to a deletion."""
    return [_creation(random), *(_step(random) for _ in range(random.randint(4, 10))), Step("DELETE", f"/connectors/{_NAME}")]


def _creation(random: Random) -> Step:
    config = {"$base": True, **(random.choice(_CHANGES) if random.random() < 0.3 else {})}
    if random.random() < 0.7:
        body = {"name": _NAME, "config": config}
        state = random.choice(_MISSING)
        return Step("POST", "/connectors", body if state is None else {**body, "initial_state": state})
    return Step("PUT", f"/connectors/{_NAME}/config", config)


def _step(random: Random) -> Step:
    at = f"/connectors/{_NAME}"
    partition = {"server": "{prefix}"}
    kind = random.choice(
        (
            "pause",
            "resume",
            "stop",
            "stop",
            "restart",
            "restart",
            "task",
            "put",
            "patch",
            "patch",
            "offsets",
            "offsets",
            "topics",
            "row",
            "read",
            "create",
            "delete",
        )
    )
    match kind:
        case "pause" | "resume" | "stop":
            return Step("PUT", f"{at}/{kind}")
        case "restart":
            return Step(
                "POST",
                f"{at}/restart" + random.choice(("", "?includeTasks=true", "?onlyFailed=true", "?includeTasks=true&onlyFailed=true")),
            )
        case "task":
            return Step("POST", f"{at}/tasks/{random.choice((0, 0, 1))}/restart")
        case "put":
            return Step("PUT", f"{at}/config", {"$base": True, **random.choice(_CHANGES)})
        case "patch":
            return Step("PATCH", f"{at}/config", random.choice(_CHANGES))
        case "offsets":
            return random.choice(
                (
                    Step("GET", f"{at}/offsets"),
                    Step("DELETE", f"{at}/offsets"),
                    Step("PATCH", f"{at}/offsets", {"offsets": [{"partition": partition, "offset": None}]}),
                    Step("PATCH", f"{at}/offsets", {"offsets": [{"partition": partition, "offset": {"lsn": 1, "ts_usec": 1}}]}),
                    Step("PATCH", f"{at}/offsets", {"offsets": [{"partition": {"server": "other"}, "offset": None}]}),
                    Step("PATCH", f"{at}/offsets", {"offsets": [{"partition": {"x": 1}, "offset": {"mine": 1}}]}),
                    Step("PATCH", f"{at}/offsets", {"offsets": []}),
                )
            )
        case "topics":
            return random.choice((Step("GET", f"{at}/topics"), Step("PUT", f"{at}/topics/reset")))
        case "row":
            return Step("SQL", "INSERT INTO t DEFAULT VALUES")
        case "create":
            return _creation(random)
        case "delete":
            return Step("DELETE", at)
    return Step(
        "GET",
        random.choice((at, f"{at}/config", f"{at}/tasks", f"{at}/tasks/0/status", "/connectors?expand=info", "/connectors?expand=status")),
    )


@dataclass(slots=True)
class Lives:
    """Plays lives on the reference's side and on the own one."""

    sides: tuple[Side, Side]
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2))

    def dsn(self, side: Side, database: str) -> str:
        """Where a side's database is."""
        return f"host={side.host} port={side.port} user={side.user} password={side.password} dbname={database}"

    def prepare(self) -> None:
        """Empty databases with a table."""
        self.remove()
        for side in self.sides:
            with psycopg.connect(self.dsn(side, "postgres"), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {side.own['database']} TEMPLATE template0".encode())
            with psycopg.connect(self.dsn(side, side.own["database"]), autocommit=True) as connection:
                connection.execute("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)")

    def remove(self) -> None:
        """Remove connectors, their offsets, slots and databases."""
        for side in self.sides:
            self._forget(side)
            with psycopg.connect(self.dsn(side, "postgres"), autocommit=True) as connection:
                connection.execute(f"DROP DATABASE IF EXISTS {side.own['database']} WITH (FORCE)".encode())

    def _forget(self, side: Side) -> None:
        at = f"/connectors/{_NAME}"
        # Offsets outlive a connector, and only one that exists and is stopped can forget them.
        side.send(Step("PUT", f"{at}/stop"))
        side.send(Step("POST", "/connectors", {"name": _NAME, "config": {"$base": True}, "initial_state": "STOPPED"}))
        side.send(Step("PUT", f"{at}/config", {"$base": True}))
        self._until(lambda: self._state(side)[1] == ("STOPPED",))
        side.send(Step("DELETE", f"{at}/offsets"))
        side.send(Step("DELETE", at))
        self._until(lambda: side.send(Step("GET", f"{at}/status")).status == 404)
        with psycopg.connect(self.dsn(side, "postgres"), autocommit=True) as connection:
            self._until(
                lambda: (
                    not connection.execute(
                        "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active", [side.own["slot"]]
                    ).fetchone()
                )
            )
            connection.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [side.own["slot"]]
            )

    def _until(self, holds: Callable[[], bool]) -> bool:
        end = time.monotonic() + _PATIENCE_S
        while not holds():
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE_S)
        return True

    def _state(self, side: Side) -> tuple[int, tuple[str, ...] | None]:
        answer = side.send(Step("GET", f"/connectors/{_NAME}/status"))
        if answer.status != 200:
            return answer.status, None
        return answer.status, (answer.json["connector"]["state"], *(task["state"] for task in answer.json["tasks"]))

    def _why(self, side: Side) -> Any:
        status = side.send(Step("GET", f"/connectors/{_NAME}/status"))
        lines = [line for line in re.split(r'\\n|"', status.body.decode()) if line.startswith(("Caused by", "org.", "java.", "io."))]
        return [status.status, self._state(side)[1], *lines]

    def play(self, life: list[Step]) -> Iterator[tuple[int, Difference]]:
        """Play the steps; the differences with the places of their steps. It ends at the first step after which the states differ."""
        list(self.pool.map(self._forget, self.sides))
        for at, step in enumerate(life):
            yield from ((at, difference) for difference in self._both(step))
            states = list(self._settle())
            yield from ((at, difference) for difference in states)
            if states:
                return

    def _both(self, step: Step) -> Iterator[Difference]:
        if step.method == "SQL":
            for side in self.sides:
                with psycopg.connect(self.dsn(side, side.own["database"]), autocommit=True) as connection:
                    connection.execute(step.path.encode())
            return
        end = time.monotonic() + _PATIENCE_S
        while True:
            theirs, ours = self.pool.map(lambda side: side.send(step), self.sides)
            left, right = (
                [answer.status, self._plain(side, step, answer)] for side, answer in zip(self.sides, (theirs, ours), strict=True)
            )
            # What is read may come later on one side.
            if left == right or step.method != "GET" or time.monotonic() > end:
                break
            time.sleep(_PAUSE_S)
        # A stopped connector's task cannot be restarted; the reference says so by 409.
        if left != right and not (step.path.endswith("/tasks/0/restart") and [theirs.status, ours.status] == [409, 404]):
            yield "answer", left, right

    def _plain(self, side: Side, step: Step, answer: Answer) -> Any:
        body = side.plain(answer.json)
        if step.path.startswith("/connectors?") and isinstance(body, dict):
            return {_NAME: body.get(_NAME)}
        if step.path.endswith("/offsets") and step.method == "GET" and self._state(side)[1] != ("STOPPED",):
            # The reference stores offsets once a minute, and when a connector stops.
            return None
        if "/restart?" in step.path and answer.status == 202:
            # What the tasks are doing at that moment.
            return None
        return body

    def _settle(self) -> Iterator[Difference]:
        end = time.monotonic() + _PATIENCE_S
        same, last = 0, None
        while True:
            theirs, ours = self.pool.map(self._state, self.sides)
            passing = any(state and _PASSING & set(state) for _, state in (theirs, ours))
            same = same + 1 if theirs == ours and not passing and theirs == last else 0
            last = theirs
            if same >= _SETTLED_POLLS:
                return
            if time.monotonic() > end:
                if theirs[1] == ("PAUSED", "FAILED") and ours[1] == ("PAUSED", "PAUSED"):
                    # A paused task of the reference still reads, so that it can fail.
                    return
                yield "state", *(self._why(side) for side in self.sides)
                return
            time.sleep(_PAUSE_S)
