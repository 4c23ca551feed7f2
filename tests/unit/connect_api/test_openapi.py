"""Every operation of the OpenAPI page, called with generated valid and invalid input: the answers are those that the page promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import httpx
import jsonschema_rs
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect_api.paths import encode
from tests.support.memory_worker import memory_worker
from tests.support.openapi_calls import COMPONENTS, Case, called, check, description, loaded

CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"
CONFIG: Final = {
    "connector.class": CLASS,
    "database.hostname": "db.example",
    "database.user": "anna",
    "database.password": "secret",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}
FLEET: Final = {"shop": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED"}
"""Connectors that exist before each call, so that names of the page's own find something too."""
# The calls at the borders of each schema are most of the work: they are for the long run, which has all examples of everything.
MANY = loaded(6, "examples", "coverage", "fuzzing") if settings().max_examples >= 100 else loaded(2, "examples", "fuzzing")


@pytest.fixture(scope="module")
def addresses() -> Iterator[tuple[str, str]]:
    with memory_worker() as places:
        yield places


@pytest.fixture(scope="module")
def http(addresses: tuple[str, str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=addresses[0], timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as kept:
        yield kept


def fleet(http: httpx.Client) -> None:
    """Create again what an earlier call deleted."""
    missing = FLEET.keys() - set(http.get("/connectors").json())
    for name in missing:
        body = {"name": name, "config": CONFIG, "initial_state": FLEET[name]}
        assert http.post("/connectors", json=body).status_code == 201


def aim(case: Case) -> None:
    """Give three of four calls the name of a connector that exists, by what was generated."""
    given = case.path_parameters.get("connector")
    if given is not None:
        aims = [*FLEET, given]
        case.path_parameters["connector"] = aims[len(str(given)) % len(aims)]


@MANY.parametrize()  # type: ignore[untyped-decorator]
def test_all_calls(case: Case, http: httpx.Client, session: requests.Session) -> None:
    fleet(http)
    aim(case)
    check(case, called(case, str(http.base_url), session))


def test_the_listener_for_administration(addresses: tuple[str, str]) -> None:
    admin = {path: calls for path, calls in description()["paths"].items() if path.startswith("/admin")}
    with httpx.Client(base_url=addresses[1]) as http:
        for path in admin:
            operation = MANY[path]["GET"]
            operation.validate_response(schemathesis.Response.from_any(http.get(path.replace("{logger}", "root"))))
        for path in ("/", "/connectors", "/docs", "/openapi.json"):
            answer = http.get(path)
            assert (answer.status_code, answer.json()["error_code"]) == (404, 404)


# Each takes half a second: every answer is held against the whole description. The fast profile has 20 examples, the full one 100.
LIVES = min(15, settings().max_examples // 4)
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).map(lambda text: text.strip())


@given(name=NAMES.filter(lambda name: name and name not in (".", "..") and name not in FLEET))
@settings(derandomize=True, max_examples=LIVES, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_life_of_a_connector_with_any_name(name: str, http: httpx.Client) -> None:
    place = f"/connectors/{encode(name)}"

    def call(method: str, path: str, operation: str, expected: int, body: object = None) -> Any:
        answer = http.request(method, path, json=body)
        assert answer.status_code == expected, answer.text
        MANY[operation][method].validate_response(schemathesis.Response.from_any(answer))
        return answer.json() if answer.content else None

    # A generated call before may have made it.
    assert http.delete(place).status_code in (204, 404)
    one = "/connectors/{connector}"
    created = call("POST", "/connectors", "/connectors", 201, {"name": name, "config": CONFIG, "initial_state": "STOPPED"})
    assert created == {"name": name, "config": {**CONFIG, "name": name}, "tasks": [], "type": "source"}
    assert call("GET", place, one, 200) == created
    assert name in call("GET", "/connectors", "/connectors", 200)
    assert call("GET", "/connectors?expand=info", "/connectors", 200)[name]["info"] == created
    call("POST", "/connectors", "/connectors", 409, {"name": name, "config": CONFIG})
    call("PUT", f"{place}/config", f"{one}/config", 200, {**CONFIG, "poll.interval.ms": 7})
    assert call("GET", f"{place}/config", f"{one}/config", 200)["poll.interval.ms"] == "7"
    call("PATCH", f"{place}/offsets", f"{one}/offsets", 200, {"offsets": [{"partition": {"server": "shop"}, "offset": {"lsn": 7}}]})
    assert call("GET", f"{place}/offsets", f"{one}/offsets", 200) == {"offsets": [{"partition": {"server": "shop"}, "offset": {"lsn": 7}}]}
    call("PUT", f"{place}/resume", f"{one}/resume", 202)
    call("DELETE", place, one, 204)
    call("GET", place, one, 404)


def test_examples_obey_their_schemas() -> None:
    page = description()
    for path, operations in page["paths"].items():
        for method, operation in operations.items():
            bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
            for content in (kind for body in bodies for kind in body.get("content", {}).values() if "example" in kind):
                assert jsonschema_rs.is_valid({**content["schema"], **COMPONENTS}, content["example"]), f"{method} {path}"
