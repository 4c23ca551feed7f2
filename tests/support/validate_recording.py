"""The reference's answers to validations of configurations, for both emulated versions.

``python -m tests.support.validate_recording --current http://127.0.0.1:8083 --former http://127.0.0.1:8084 --port 5432`` writes
validate_answers.json. Both are Kafka Connect 4.3.0 with JsonConverter as the worker's converters; one has Debezium 3.6.3.Final, the other
2.3.4.Final. Documentation of properties is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
import yaml

from tests.support.project import SUPPORT

FOLDER: Final = SUPPORT
CASES: Final = FOLDER / "validate_cases.yaml"
ANSWERS: Final = FOLDER / "validate_answers.json"
CURRENT: Final = "3.6.3.Final"
FORMER: Final = "2.3.4.Final"
CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"

DEFINITION: Final = (
    "type",
    "required",
    "default_value",
    "importance",
    "group",
    "order_in_group",
    "width",
    "display_name",
    "dependents",
)
VALUE: Final = ("value", "recommended_values", "errors", "visible")
NAMED_LIST: Final = 5
"""A list of so many recommended values is stored once."""

Row = list[Any]
"""A property: its name, the members of DEFINITION (all null where nothing is known of it), those of VALUE."""
Config = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Place:
    """The PostgreSQL that the worker reaches, which asks for no password."""

    host: str
    port: int
    user: str
    database: str

    def config(self, case: Mapping[str, Any], version: str) -> Config:
        """What is sent for a case of validate_cases.yaml."""
        base: Config = {
            "name": "checked",
            "connector.class": CLASS,
            "topic.prefix": "p",
            "database.hostname": self.host,
            "database.port": str(self.port),
            "database.user": self.user,
            "database.password": "unused",
            "database.dbname": self.database,
            "slot.name": "checked",
            "plugin.name": "pgoutput",
        }
        config = {} if case.get("bare") else {name: value for name, value in base.items() if name not in case.get("without", ())}
        config |= case.get("set", {})
        return config | ({"connector.plugin.version": version} if version == FORMER and config else {})


def cases() -> dict[str, dict[str, Any]]:
    """The configurations by name."""
    loaded: dict[str, dict[str, Any]] = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    return loaded


def check(http: httpx.Client, config: Config, place: Place) -> dict[str, Any]:
    """The answer to a configuration: status, and message or name, error_count, groups and rows. Free of what is the machine's."""
    reply = http.put("/connector-plugins/PostgresConnector/config/validate", json=config)
    body = json.loads(reply.text.replace(place.host, "{host}"))
    if reply.status_code != httpx.codes.OK:
        return {"status": reply.status_code, "message": body["message"]}
    answer: dict[str, Any] = {"status": reply.status_code, **{member: body[member] for member in ("name", "error_count", "groups")}}
    return answer | {"rows": [_row(entry) for entry in body["configs"]]}


def _row(entry: Mapping[str, Any]) -> Row:
    definition, value = entry["definition"], entry["value"]
    known = definition.get("name") is not None if definition else False
    return [
        value["name"],
        *((definition[member] if known else None) for member in DEFINITION),
        *(value[member] for member in VALUE),
    ]


def listed(http: httpx.Client, version: str) -> list[Row]:
    """The plugin's properties as ``GET /connector-plugins/{p}/config`` lists them: names and the members of DEFINITION."""
    reply = http.get("/connector-plugins/PostgresConnector/config", params={"version": version})
    assert reply.status_code == httpx.codes.OK, reply.text
    return [[key["name"], *(key[member] for member in DEFINITION)] for key in reply.json()]


def recorded(version: str) -> tuple[list[Row], dict[str, dict[str, Any]]]:
    """What was recorded for a version: the properties listed, and the answers to the cases by name."""
    stored = json.loads(ANSWERS.read_text(encoding="utf-8"))
    kept = stored["versions"][version]
    answers = {}
    for name, answer in kept["answers"].items():
        answers[name] = dict(answer)
        if "rows" in answer:
            answers[name]["rows"] = list(_unpacked(answer["rows"], kept["rows"], stored["lists"]))
            answers[name]["groups"] = answer.get("groups", kept["groups"])
    return kept["listed"], answers


def _packed(rows: Sequence[Row], usual: Sequence[Row], lists: list[list[str]]) -> Iterator[Any]:
    """Each run of usual rows as a pair of places, the others as they are; a long list of recommended values as its number."""
    at = 0
    while at < len(rows):
        start = usual.index(rows[at]) if rows[at] in usual else -1
        end = start
        while start >= 0 and end < len(usual) and at < len(rows) and rows[at] == usual[end]:
            at, end = at + 1, end + 1
        if start >= 0:
            yield [start, end]
        else:
            yield _short(rows[at], lists)
            at += 1


def _short(row: Row, lists: list[list[str]]) -> Row:
    values = row[-3]
    if len(values) < NAMED_LIST:
        return row
    if values not in lists:
        lists.append(values)
    return [*row[:-3], lists.index(values), *row[-2:]]


def _unpacked(packed: Sequence[Any], usual: Sequence[Row], lists: Sequence[Sequence[str]]) -> Iterator[Row]:
    for entry in packed:
        rows = usual[entry[0] : entry[1]] if isinstance(entry[0], int) else [entry]
        for row in rows:
            yield [*row[:-3], list(lists[row[-3]]) if isinstance(row[-3], int) else row[-3], *row[-2:]]


def _record(urls: Mapping[str, str], place: Place) -> None:
    lists: list[list[str]] = []
    versions = []
    for version, url in urls.items():
        # A connection for each call: the reference's server ends some of them after an error.
        with httpx.Client(base_url=url, timeout=90, limits=httpx.Limits(max_keepalive_connections=0)) as http:
            keys = listed(http, version)
            answers = {name: check(http, place.config(case, version), place) for name, case in cases().items()}
        usual = answers["minimal"]
        reported = []
        for name, answer in answers.items():
            kept = {member: value for member, value in answer.items() if member != "groups" or value != usual["groups"]}
            if "rows" in kept:
                kept["rows"] = list(_packed(answer["rows"], usual["rows"], lists))
            reported.append(f"{json.dumps(name)}:{_json(kept)}")
        parts = [
            f'"listed":{_lines(keys)}',
            f'"groups":{_json(usual["groups"])}',
            f'"rows":{_lines([_short(row, lists) for row in usual["rows"]])}',
            '"answers":{\n' + ",\n".join(reported) + "}",
        ]
        versions.append(f"{json.dumps(version)}:{{\n" + ",\n".join(parts) + "}")
    head = f'"definition":{_json(DEFINITION)},\n"value":{_json(VALUE)},\n"lists":{_lines(lists)}'
    ANSWERS.write_text(f'{{{head},\n"versions":{{\n' + ",\n".join(versions) + "}}\n", encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(values: Sequence[object]) -> str:
    return "[\n" + ",\n".join(_json(value) for value in values) + "]"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Record how the reference answers checked configurations.")
    parser.add_argument("--current", required=True, help="a Connect with Debezium 3.6.3.Final")
    parser.add_argument("--former", required=True, help="a Connect with Debezium 2.3.4.Final")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5432)
    parser.add_argument("--user", default="postgres")
    chosen = parser.parse_args()
    _record({CURRENT: chosen.current, FORMER: chosen.former}, Place(chosen.host, chosen.port, chosen.user, "postgres"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
