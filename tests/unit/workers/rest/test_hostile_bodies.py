"""No body makes the worker answer 500: every call that takes one, over a real herder, with what no client sends by accident.

Two answers of 500 are the reference's own, recorded: validate without a class, and of an unknown plugin.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

import httpx
import pytest

from connect_api.app import create_app
from connector.config.connector_config import parse
from connector.config.keys import KEYS
from connector.config.validation import Validation, validate
from connector.errors import CdcError
from connector.preflight.finding import Finding
from tests.support.herder_bench import CLASS, CONFIG, Bench
from workers.herder.configuration_check import ConfigurationCheck

JSON = {"Content-Type": "application/json"}
DEEP = 5_000
NO_CLASS = "contains no connector type"
FULL = CONFIG | {"database.hostname": "db", "database.user": "u", "database.password": "p", "database.dbname": "d"}


async def look(config: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    """As far as the look at the database comes without one: the configuration is read."""
    parse(config)
    return ()


class CheckedBench(Bench):
    async def validate(self, name: str, config: Mapping[str, str | None]) -> Validation:
        return await ConfigurationCheck(look)(name, config)


@dataclass(frozen=True)
class Place:
    method: str
    path: str
    around: bytes
    """The body, with ``%b`` where the hostile value stands."""


PLACES = {
    "create": Place("POST", "/connectors", b"%b"),
    "create: name": Place("POST", "/connectors", b'{"name":%b,"config":{}}'),
    "create: config": Place("POST", "/connectors", b'{"name":"new","config":%b}'),
    "create: property": Place("POST", "/connectors", b'{"name":"new","config":{"connector.class":"%s","a":%%b}}' % CLASS.encode()),
    "create: state": Place("POST", "/connectors", b'{"name":"new","initial_state":%b,"config":{}}'),
    "put": Place("PUT", "/connectors/still/config", b"%b"),
    "put: property": Place("PUT", "/connectors/still/config", b'{"connector.class":"%s","topic.prefix":"s","a":%%b}' % CLASS.encode()),
    "patch: property": Place("PATCH", "/connectors/still/config", b'{"a":%b}'),
    "patch": Place("PATCH", "/connectors/still/config", b"%b"),
    "validate": Place("PUT", f"/connector-plugins/{CLASS}/config/validate", b"%b"),
    "validate: property": Place(
        "PUT", f"/connector-plugins/{CLASS}/config/validate", b'{"connector.class":"%s","database.port":%%b}' % CLASS.encode()
    ),
    "offsets": Place("PATCH", "/connectors/still/offsets", b"%b"),
    "offsets: list": Place("PATCH", "/connectors/still/offsets", b'{"offsets":%b}'),
    "offsets: partition": Place("PATCH", "/connectors/still/offsets", b'{"offsets":[{"partition":%b,"offset":{"lsn":1}}]}'),
    "offsets: member": Place("PATCH", "/connectors/still/offsets", b'{"offsets":[{"partition":{"server":"still"},"offset":{"lsn":%b}}]}'),
    "level": Place("PUT", "/admin/loggers/connector", b"%b"),
    "level: word": Place("PUT", "/admin/loggers/connector", b'{"level":%b}'),
    "level: cluster": Place("PUT", "/admin/loggers/connector?scope=cluster", b'{"level":%b}'),
    "signal": Place("POST", "/connectors/shop/signals", b"%b"),
    "signal: type": Place("POST", "/connectors/shop/signals", b'{"type":%b}'),
    "signal: data": Place("POST", "/connectors/shop/signals", b'{"type":"log","data":%b}'),
    "tasks": Place("POST", "/connectors/shop/tasks", b"%b"),
    "fence": Place("PUT", "/connectors/shop/fence", b"%b"),
}

VALUES = {
    "opened arrays": b"[" * DEEP,
    "arrays": b"[" * DEEP + b"]" * DEEP,
    "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "arrays at Python's limit": b"[" * 985 + b"]" * 985,
    "arrays within ours": b"[" * 90 + b"]" * 90,
    "whole number": b"9" * 5_000,
    "negative number": b"-" + b"9" * 5_000,
    "64 bits": b"9223372036854775808",
    "float": b"1e400",
    "small float": b"1e-400",
    "exponent": b"1e" + b"9" * 5_000,
    "fraction": b"0." + b"1" * 5_000,
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "half a pair": rb'"\ud800"',
    "half a pair, raw": b'"\xed\xa0\x80"',
    "half a pair in a name": rb'{"\udc00":"x"}',
    "NUL": rb'"\u0000"',
    "repeated name": b'{"a":"1","a":"2","level":"INFO","level":"junk"}',
    "no name": b'{"":"x"}',
    "long name": b'{"' + b"k" * 100_000 + b'":"x"}',
    "many names": json.dumps({f"k{number}": "v" for number in range(5_000)}).encode(),
    "long text": b'"' + b"x" * 10_000_000 + b'"',
    "text of digits": b'"' + b"9" * 5_000 + b'"',
    "text that nests": json.dumps("[" * DEEP).encode(),
    "text that nests, closed": json.dumps('{"a":' * DEEP + "1" + "}" * DEEP).encode(),
    "text with half a pair": json.dumps(r'{"a":"\ud800"}').encode(),
    "text with a number": json.dumps('{"a":' + "9" * 5_000 + "}").encode(),
    "text with NaN": json.dumps('{"a":NaN}').encode(),
    "UTF-16": '{"a":"1"}'.encode("utf-16"),
    "nothing": b"",
    "null": b"null",
}


TEXTS = {
    "arrays": "[" * DEEP,
    "closed arrays": "[" * DEEP + "]" * DEEP,
    "groups": "(" * 600 + "a" + ")" * 600,
    "deep groups": "(" * DEEP + ")" * DEEP,
    "objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "digits": "9" * 5_000,
    "negative digits": "-" + "9" * 5_000,
    "zeros": "0" * 5_000 + "1",
    "repetition": "a{" + "0" * 5_000 + "1," + "9" * 5_000 + "}",
    "exponent": "1e" + "9" * 5_000,
    "NaN": "NaN",
    "other digits": "\u0967\u0968",
    "superscript": "\u00b2",
    "NUL": "a\0b",
    "line ends": "a\r\nb\u2028\x1b[31m",
    "commas": "," * 10_000,
    "references": "${" * 100 + "}" * 100,
}


@pytest.fixture(scope="module")
async def http() -> AsyncIterator[httpx.AsyncClient]:
    bench = CheckedBench()
    await bench.herder.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(create_app(bench.herder)), base_url="http://connect") as client:
        await bench.create(FULL)
        still = {**FULL, "name": "still"}
        await bench.herder.put_connector("still", still, allow_replace=False, initial_state="STOPPED")
        await bench.settled()
        yield client
    await bench.herder.stop()


@pytest.mark.parametrize("place", PLACES)
async def test_bodies(http: httpx.AsyncClient, place: str) -> None:
    call = PLACES[place]
    wrong = []
    for title, value in VALUES.items():
        answer = await http.request(call.method, call.path, content=call.around % value, headers=JSON)
        reported = answer.json() if answer.content else {}
        if answer.status_code == 500 and place == "validate" and NO_CLASS in reported["message"]:
            continue
        if answer.status_code >= 500 or (
            answer.status_code >= 400 and not (reported["error_code"] == answer.status_code and reported["message"])
        ):
            wrong.append((title, answer.status_code, answer.text[:200]))
    assert wrong == []


@pytest.mark.parametrize("text", TEXTS)
def test_values_of_all_properties(text: str) -> None:
    hostile = {key.name: TEXTS[text] for key in KEYS}
    validate(hostile | {"connector.class": CLASS})
    validate(hostile | {"connector.class": CLASS, "connector.plugin.version": "3.6.3.Final"})


@pytest.mark.parametrize("text", ["arrays", "digits", "zeros", "repetition"])
def test_values_of_each_property(text: str) -> None:
    """As far as a task reads them: the first that is wrong ends it."""
    for key in KEYS:
        with contextlib.suppress(CdcError):
            parse(FULL | {key.name: TEXTS[text]})


def test_many_unknown_properties_are_reported_in_few_lines() -> None:
    _, notices = parse(FULL | {f"k{number}": "v" for number in range(5_000)})
    assert len(notices) < 200
    assert "4900 more properties are unknown and have no effect." in notices
