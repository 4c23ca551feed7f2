"""Properties and checked configurations are answered as Kafka Connect 4.3.0 with Debezium 3.6.3.Final, and 2.3.4.Final, answered them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fix_pg import PgServer
from fix_worker import Worker
from support.validate_recording import CURRENT, DEFINITION, FORMER, VALUE, Place, Row, cases, check, listed, recorded

pytestmark = pytest.mark.pg_once

MEMBERS = ("name", *DEFINITION, *VALUE)
VERSIONS = [FORMER, CURRENT]
VERSION = "connector.plugin.version"
STEP_MEMBERS = ("plugin.version", "negate", "predicate")


def of(row: Row, member: str) -> Any:
    return row[MEMBERS.index(member)]


def with_member(row: Row, member: str, value: object) -> Row:
    changed = list(row)
    changed[MEMBERS.index(member)] = value
    return changed


def as_here(answer: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """The reference's answer with what docs/differences.md tells of."""
    rows = []
    for row in _steps_here(answer["rows"]):
        name = of(row, "name")
        # The worker plays both versions, the newest of them unless told otherwise; each of the recorded ones had one.
        told = with_member(with_member(row, "default_value", CURRENT), "recommended_values", VERSIONS) if name == VERSION else row
        rows.append(with_member(told, "errors", case["here"][name]) if name in case.get("here", {}) else told)
    return {**answer, "rows": rows, "error_count": sum(len(of(row, "errors")) for row in rows)}


def _steps_here(rows: list[Row]) -> Iterator[Row]:
    """No transformation is played: each is refused, and what is its own is not known."""
    place = 0
    for row in rows:
        name, step = str(of(row, "name")), str(of(row, "group")).removeprefix("Transforms: ")
        member = name.removeprefix(f"transforms.{step}.")
        if not name.startswith("transforms."):
            yield row
        elif member == "type":
            place = 0
            line = f"The '{name}' value is invalid: This worker applies no transforms yet; take {step} out of transforms"
            yield row if of(row, "errors") else with_member(row, "errors", [line])
        elif member in STEP_MEMBERS:
            place += 1
            yield with_member(row, "order_in_group", place)


def differences(answer: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    if expected["status"] != answer["status"] or "rows" not in expected:
        return [] if answer == expected else [f"{answer} and not {expected}"]
    found = [f"{member}: {answer[member]} and not {expected[member]}" for member in ("name", "error_count", "groups")]
    found = [line for line, member in zip(found, ("name", "error_count", "groups"), strict=True) if answer[member] != expected[member]]
    names, wanted = ([of(row, "name") for row in rows] for rows in (answer["rows"], expected["rows"]))
    if names != wanted:
        return [*found, f"names: {set(names) ^ set(wanted) or names}"]
    for row, other in zip(answer["rows"], expected["rows"], strict=True):
        found += [f"{row[0]}: {m}: {of(row, m)!r} and not {of(other, m)!r}" for m in MEMBERS if of(row, m) != of(other, m)]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_recording_belongs_to_the_cases(version: str) -> None:
    assert list(recorded(version)[1]) == list(cases())


@pytest.mark.parametrize("version", VERSIONS)
def test_the_properties_are_listed_as_the_reference_lists_them(version: str, shared_worker: Worker) -> None:
    with httpx.Client(base_url=shared_worker.url, timeout=60) as http:
        rows = listed(http, version)
    default = MEMBERS.index("default_value")
    expected = [
        [*row[:default], CURRENT, *row[default + 1 :]] if row[0] == "connector.plugin.version" else row for row in recorded(version)[0]
    ]
    assert rows == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_every_configuration_is_answered_as_the_reference_answers(version: str, pg: PgServer, shared_worker: Worker) -> None:
    database = pg.database("checked")
    place = Place(database.host, database.port, database.user, database.name)
    answers = recorded(version)[1]
    wrong = []
    with httpx.Client(base_url=shared_worker.url, timeout=60) as http:
        for name, case in cases().items():
            answer, expected = check(http, place.config(case, version), place), answers[name]
            if "rows" in expected:
                wrong += [f"{name}: {line}" for line in differences(answer, as_here(expected, case))]
            elif "BadRequestException" in expected["message"]:
                wrong += [f"{name}: {line}" for line in differences(answer, expected)]
            else:
                # The reference breaks on what it should tell of.
                told = [line for row in answer.get("rows", ()) for line in of(row, "errors")]
                wrong += [] if told else [f"{name}: {answer['status']} without an error"]
    assert wrong == [], "\n".join(wrong)
