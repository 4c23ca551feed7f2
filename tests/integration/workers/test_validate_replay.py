"""Properties and checked configurations are answered as Kafka Connect 4.3.0 with Debezium 3.6.3.Final, and 2.3.4.Final, answered them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from connector.emulation import DEBEZIUM_3_7_0
from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.validate_recording import CURRENT, DEFINITION, FORMER, VALUE, Place, Row, cases, check, listed, recorded

pytestmark = pytest.mark.pg_once

MEMBERS = ("name", *DEFINITION, *VALUE)
VERSIONS = [FORMER, CURRENT]
VERSION = "connector.plugin.version"


def of(row: Row, member: str) -> Any:
    return row[MEMBERS.index(member)]


def with_member(row: Row, member: str, value: object) -> Row:
    changed = list(row)
    changed[MEMBERS.index(member)] = value
    return changed


def as_here(answer: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """The reference's answer with the changes that docs/differences.md lists."""
    rows = []
    for row in answer["rows"]:
        name = of(row, "name")
        # The worker emulates three versions. Each recorded worker had one.
        message = (
            with_member(with_member(row, "default_value", CURRENT), "recommended_values", [*VERSIONS, DEBEZIUM_3_7_0.version])
            if name == VERSION
            else row
        )
        rows.append(with_member(message, "errors", case["here"][name]) if name in case.get("here", {}) else message)
    return {**answer, "rows": rows, "error_count": sum(len(of(row, "errors")) for row in rows)}


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
                # The reference fails where it should report an error.
                message = [line for row in answer.get("rows", ()) for line in of(row, "errors")]
                wrong += [] if message else [f"{name}: {answer['status']} without an error"]
    assert wrong == [], "\n".join(wrong)
