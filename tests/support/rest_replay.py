"""Plays the calls of tests/support/rest_requests.yaml, and records what the reference answers to them.

``python -m tests.support.rest_replay --url http://127.0.0.1:8083 --bootstrap 127.0.0.1:9092 --port 5432`` writes rest_answers.json.
The PostgreSQL superuser's server must be the same for the worker.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import psycopg
import yaml
from aiokafka.admin import AIOKafkaAdminClient

from tests.support.project import SUPPORT

FOLDER: Final = SUPPORT
REQUESTS: Final = FOLDER / "rest_requests.yaml"
ANSWERS: Final = FOLDER / "rest_answers.json"
SETUP: Final = ("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")

Answer = dict[str, Any]
"""``status``, and of body, ``allow`` and ``location`` what there is."""

_PLACES: Final = {"worker_id", "kafka_cluster_id", "commit", "database.hostname", "database.port", "database.user"}
_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Place:
    """Where the calls go, and the PostgreSQL that the worker reaches."""

    url: str
    host: str
    port: int
    user: str
    database: str
    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    @property
    def names(self) -> dict[str, str]:
        """The values of the placeholders in requests."""
        return {"c": f"rc_{self.tag}", "d": f"rd_{self.tag}", "p": f"rp_{self.tag}"}

    @property
    def base(self) -> dict[str, str]:
        """The value of ``$base``."""
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": self.host,
            "database.port": str(self.port),
            "database.user": self.user,
            "database.password": "unused",
            "database.dbname": self.database,
            "topic.prefix": self.names["p"],
            "plugin.name": "pgoutput",
            "slot.name": f"rs_{self.tag}",
            "publication.name": f"rs_{self.tag}",
        }


def requests() -> dict[str, list[dict[str, Any]]]:
    """The calls by section."""
    loaded: dict[str, list[dict[str, Any]]] = yaml.safe_load(REQUESTS.read_text(encoding="utf-8"))
    return loaded


def play(place: Place) -> Iterator[tuple[dict[str, Any], Answer]]:
    """Make every call in order; the call and its answer, freed of what no two runs share."""
    # A connection for each call: the reference's server ends some of them after an error.
    with httpx.Client(base_url=place.url, timeout=90, limits=httpx.Limits(max_keepalive_connections=0)) as http:
        for calls in requests().values():
            for call in calls:
                yield call, _answer(http, place, call)


def differences(call: Mapping[str, Any], answer: Answer, expected: Answer) -> list[str]:
    """The differences of an answer from the recording, or from the expected difference if the call has one."""
    here = call.get("here")
    if here is not None:
        reported = json.dumps(answer.get("body"), ensure_ascii=False).replace('\\"', '"')
        return [] if answer["status"] == here["status"] and here["says"] in reported else [f"{answer} is not {here}"]
    members = ["status"] if call.get("only") == "status" else ["status", "body", "allow", "location"]
    return [f"{name}: {answer.get(name)} and not {expected.get(name)}" for name in members if answer.get(name) != expected.get(name)]


def _answer(http: httpx.Client, place: Place, call: Mapping[str, Any]) -> Answer:
    end = time.monotonic() + _PATIENCE_S
    while True:
        reply = _send(http, place, call)
        if "until" not in call or re.search(call["until"], reply.text):
            break
        assert time.monotonic() < end, f"{call} was still answered with {reply.status_code} {reply.text}"
        time.sleep(_PAUSE_S)
    answer: Answer = {"status": reply.status_code}
    if call.get("only") != "status" and reply.content:
        try:
            answer["body"] = _plain(_own(reply.json(), call["call"], place), place)
        except ValueError:
            answer["body"] = reply.text
    if "allow" in reply.headers and call["call"].startswith("OPTIONS"):
        answer["allow"] = reply.headers["allow"]
    if "location" in reply.headers:
        answer["location"] = _text(reply.headers["location"].removeprefix(place.url), place)
    return answer


def _send(http: httpx.Client, place: Place, call: Mapping[str, Any]) -> httpx.Response:
    method, _, path = call["call"].partition(" ")
    content = None
    if "raw" in call:
        content = call["raw"]
    elif "body" in call:
        content = json.dumps(_filled(call["body"], place), ensure_ascii=False)
    headers = {} if content is None else {"Content-Type": "application/json"}
    headers = {name: value for name, value in (headers | call.get("headers", {})).items() if value}
    return http.request(method, _filled(path, place), content=None if content is None else content.encode(), headers=headers)


def _filled(value: Any, place: Place) -> Any:
    if isinstance(value, str):
        for name, text in place.names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        filled = {key: _filled(each, place) for key, each in value.items() if key != "$base"}
        return {**place.base, **filled} if "$base" in value else filled
    return [_filled(each, place) for each in value] if isinstance(value, list) else value


def _own(body: Any, call: str, place: Place) -> Any:
    """Of a list of connectors those of this run: the reference's worker may have others."""
    if not re.fullmatch(r"GET /connectors/?(\?.*)?", call):
        return body
    own = set(place.names.values())
    return [name for name in body if name in own] if isinstance(body, list) else {name: body[name] for name in body if name in own}


def _plain(value: Any, place: Place, key: str = "") -> Any:
    if isinstance(value, dict):
        return {_text(name, place): _plain(each, place, name) for name, each in value.items()}
    if isinstance(value, list):
        if key == "offsets":
            # In no order.
            value = sorted(value, key=lambda each: json.dumps(each["partition"], sort_keys=True))
        return [_plain(each, place) for each in value]
    if isinstance(value, str):
        return f"{key}" if key in _PLACES else _text(value, place)
    # Positions and times.
    return "number" if isinstance(value, int) and value > 9 and key in {"last_modified", "lsn", "txId", "ts_usec"} else value


def _text(text: str, place: Place) -> str:
    for name, real in {**place.names, "slot": place.base["slot.name"], "database": place.database}.items():
        text = text.replace(real, f"{{{name}}}")
    # Asked for a class that it has not found before, the reference's answer comes out of a cache and says so.
    text = text.replace("org.apache.kafka.connect.errors.ConnectException: ", "")
    return re.sub(r"location='[^']*'", "location='…'", text)


def _record(place: Place) -> None:
    sections: dict[str, list[Answer]] = {}
    answers = [{"call": call["call"], **answer} for call, answer in play(place)]
    for section, calls in requests().items():
        sections[section], answers = answers[: len(calls)], answers[len(calls) :]
    lines = ",\n".join(
        f"{json.dumps(section)}:[\n" + ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in recorded) + "\n]"
        for section, recorded in sections.items()
    )
    ANSWERS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


async def _forget_topic(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([topic])
    finally:
        await admin.close()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Record what the reference answers.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5432)
    parser.add_argument("--user", default="postgres")
    chosen = parser.parse_args()
    place = Place(chosen.url, chosen.host, chosen.port, chosen.user, f"replay_{uuid.uuid4().hex[:8]}")
    server = f"host={place.host} port={place.port} user={place.user}"
    with psycopg.connect(f"{server} dbname=postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{place.database}" TEMPLATE template0'.encode())
        try:
            with psycopg.connect(f"{server} dbname={place.database}", autocommit=True) as own:
                for statement in SETUP:
                    own.execute(statement.encode())
            _record(place)
        finally:
            for name in ("c", "d"):
                httpx.delete(f"{place.url}/connectors/{place.names[name]}", timeout=90)
            slot = "FROM pg_replication_slots WHERE slot_name = %s AND NOT active"
            connection.execute(f"SELECT pg_drop_replication_slot(slot_name) {slot}".encode(), [place.base["slot.name"]])
            connection.execute(f'DROP DATABASE "{place.database}" WITH (FORCE)'.encode())
            asyncio.run(_forget_topic(chosen.bootstrap, f"{place.names['p']}.public.t"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
