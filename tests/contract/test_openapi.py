"""Every operation of the OpenAPI page of a worker on Kafka, called with generated valid and invalid input."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from tests.fix_worker import Worker
from tests.support.openapi_calls import Case, called, check, loaded

FEW = loaded(3, "examples", "fuzzing")


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as kept:
        yield kept


@FEW.parametrize()  # type: ignore[untyped-decorator]
def test_calls_of_a_worker_on_kafka(case: Case, shared_worker: Worker, session: requests.Session) -> None:
    # Levels and connectors are those of other tests too.
    if case.path == "/admin/loggers/{logger}" and case.method == "PUT":
        case.path_parameters["logger"] = "openapi.test"
        case.query.pop("scope", None)
    check(case, called(case, shared_worker.url, session))
