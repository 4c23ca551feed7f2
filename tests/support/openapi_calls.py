"""Generated calls of the REST interface, and what the OpenAPI page promises of their answers."""

from __future__ import annotations

import json
from typing import Any, Final, cast

import jsonschema_rs
import requests
import schemathesis
from schemathesis.specs.openapi import checks

from connect_api.app import create_app
from connect_api.herder import Herder

Case = schemathesis.Case[Any]
CHECKS: Final = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
]
NO_CLASS: Final = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: "
"""How Connect's own 500 for the check of a configuration without a known class begins."""


def description() -> dict[str, Any]:
    # Building the app asks the herder nothing.
    return create_app(cast("Herder", object())).openapi()


def loaded(max_examples: int, *modes: str) -> Any:
    """The page for generated calls: the same ones in each run."""
    config = schemathesis.Config.from_dict(
        {
            "seed": 1,
            "generation": {"deterministic": True, "max-examples": max_examples, "mode": "all", "database": "none"},
            "phases": {name: {"enabled": name in modes} for name in ("examples", "coverage", "fuzzing", "stateful")},
        }
    )
    return schemathesis.openapi.from_dict(description(), config=config)


COMPONENTS: Final = {"components": description()["components"]}


def called(case: Case, url: str, session: requests.Session) -> Any:
    # A stream has no end: of the two kinds of answer the list is asked for.
    headers = {"Accept": "application/json"} if case.path.endswith("/notifications") else None
    return case.call(base_url=url, session=session, headers=headers)


def check(case: Case, response: Any) -> None:
    """What the page promises, no failure of the worker itself, and no invalid body that was taken."""
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 500:
        assert case.path.endswith("/validate"), f"{case.as_curl_command()}\n{response.text}"
        assert response.json()["message"].startswith(NO_CLASS), f"{case.as_curl_command()}\n{response.text}"
    body = case.operation.definition.raw.get("requestBody")
    sent = response.request.body
    if body is not None and response.status_code < 300 and response.request.method == case.operation.method.upper():
        jsonschema_rs.validate({**body["content"]["application/json"]["schema"], **COMPONENTS}, json.loads(sent))
