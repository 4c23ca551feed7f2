"""Records how a Kafka Connect with the real connector answers single properties and combinations of them.

``python -m tests.support.record_validation 3.7.0.Final --url http://127.0.0.1:8083 --cases 3.6.3.Final`` asks for everything that the
recording of another version holds, and for typical values of each property that only this version lists. The answers go into
keys_recorded.json and validation_recorded.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx

FOLDER: Final = Path(__file__).parents[1] / "unit" / "connector" / "config"
KEYS: Final = FOLDER / "keys_recorded.json"
ANSWERS: Final = FOLDER / "validation_recorded.json"
TYPICAL: Final = ("abc", "-1", "0", "1", "1.5", "99999999999", " 7 ", "TRUE", "yes", "a,,b", "(", "")
AT_ONCE: Final = 4
NOT_RECORDED: Final = "database.dbname"

Answer = list[list[Any]]


class Recorder:
    """Asks one worker."""

    def __init__(self, url: str, base: dict[str, str]) -> None:
        # A connection for each call: the server ends some of them after an error.
        self._http = httpx.Client(base_url=url, timeout=90, limits=httpx.Limits(max_keepalive_connections=0))
        self._base = base

    def ask(self, settings: dict[str, str | None]) -> dict[str, Any]:
        """The whole answer to the base with ``settings``."""
        config = {name: value for name, value in {**self._base, **settings}.items() if value is not None}
        reply = self._http.put("/connector-plugins/PostgresConnector/config/validate", json=config)
        reply.raise_for_status()
        answer: dict[str, Any] = reply.json()
        return answer

    def errors(self, settings: dict[str, str | None]) -> Answer:
        """Errors by property."""
        found = [(field["value"]["name"], field["value"]["errors"]) for field in self.ask(settings)["configs"]]
        return [[name, errors] for name, errors in found if errors and name != NOT_RECORDED]

    def single(self, name: str, values: list[str]) -> dict[str, Any]:
        """The answers to values of one property, with ``<key>`` in the place of its name."""
        answers: dict[str, Answer] = {}
        accepted = []
        for value in values:
            if found := self.errors({name: value}):
                answers[value] = [
                    [key if key != name else "<key>", [text.replace(name, "<key>") for text in texts]] for key, texts in found
                ]
            else:
                accepted.append(value)
        return {"answers": answers, "accepted": accepted}


def _row(field: dict[str, Any]) -> list[object]:
    known, value = field["definition"], field["value"]
    members = ("name", "type", "default_value", "importance", "group", "order_in_group", "width", "display_name", "required", "dependents")
    return [*(known[member] for member in members), value["recommended_values"], value["visible"], value["value"]]


def _record(version: str, url: str, like: str) -> None:
    keys, stored = (json.loads(file.read_text(encoding="utf-8")) for file in (KEYS, ANSWERS))
    recorder = Recorder(url, stored["base"])
    listed = recorder.ask({})
    keys[version] = {"groups": listed["groups"], "keys": [_row(field) for field in listed["configs"]]}
    asked: dict[str, list[str]] = {}
    for case in stored["versions"][like]["single"]:
        for name in case["keys"]:
            asked[name] = [*asked.get(name, ()), *case["answers"], *case["accepted"]]
    known = {row[0] for row in keys[like]["keys"]}
    for row in keys[version]["keys"]:
        if row[0] not in known:
            asked[row[0]] = [*TYPICAL, *row[10]]
    asked.pop(NOT_RECORDED, None)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda item: recorder.single(item[0], list(dict.fromkeys(item[1]))), asked.items()))
    grouped: dict[str, list[str]] = {}
    for name, answer in zip(asked, found, strict=True):
        grouped.setdefault(json.dumps(answer, ensure_ascii=False), []).append(name)
    sets = [case["set"] for case in stored["versions"][like]["combined"]]
    stored["versions"][version] = {
        "single": [{"keys": names, **json.loads(answer)} for answer, names in grouped.items()],
        "combined": [{"set": each, "errors": recorder.errors(each)} for each in sets],
    }
    KEYS.write_text(_keys_text(keys), encoding="utf-8")
    ANSWERS.write_text(_answers_text(stored), encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _keys_text(keys: dict[str, Any]) -> str:
    versions = [
        f'"{version}": {{"groups": {_json(found["groups"])}, "keys": [\n' + ",\n".join(f"  {_json(row)}" for row in found["keys"]) + "\n]}"
        for version, found in keys.items()
        if version != "about"
    ]
    return f'{{"about": {_json(keys["about"])},\n' + ",\n".join(versions) + "}\n"


def _answers_text(stored: dict[str, Any]) -> str:
    versions = []
    for version, found in stored["versions"].items():
        parts = [f' "{kind}": [\n' + ",\n".join(f"  {_json(case)}" for case in found[kind]) + "]" for kind in ("single", "combined")]
        versions.append(f'"{version}": {{\n' + ",\n".join(parts) + "}")
    head = f'"about": {_json(stored["about"])},\n"base": {_json(stored["base"])},\n'
    return "{" + head + '"versions": {\n' + ",\n".join(versions) + "}}\n"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Record how the reference validates properties.")
    parser.add_argument("version", help="as the worker's plugin has it")
    parser.add_argument("--url", required=True, help="the Connect worker with that version")
    parser.add_argument("--cases", required=True, help="the recorded version whose values are asked for too")
    chosen = parser.parse_args()
    _record(chosen.version, chosen.url, chosen.cases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
