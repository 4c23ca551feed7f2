"""The calls between workers are closed to everybody; media types are looked at as the reference does it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from connect_api.app import create_app
from connect_api.herder import Herder
from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder, rest

MISSING = "Internal request missing required signature"
INVALID = "Internal request contained invalid signature."
OTHER = (
    "This worker does not support the 'HmacSHA1' key signing algorithm used by other workers. This worker is currently configured to "
    "use: [HmacSHA256]. Check that all workers' configuration files permit the same set of signature algorithms, and correct any "
    "misconfigured worker and restart it."
)
SIGNATURE, ALGORITHM = "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm"


@each_case(("method", "path", "body"), [("POST", "tasks", b"[]"), ("PUT", "fence", b"")])
@each_case(
    ("headers", "status", "message"),
    [
        ({}, 400, MISSING),
        ({SIGNATURE: "QUJD"}, 400, MISSING),
        ({ALGORITHM: "HmacSHA256"}, 400, MISSING),
        ({"Content-Type": "text/plain"}, 400, MISSING),
        ({SIGNATURE: "QUJD", ALGORITHM: "HmacSHA256"}, 403, INVALID),
        ({SIGNATURE: "QUJD", ALGORITHM: "HmacSHA1"}, 400, OTHER),
        ({SIGNATURE: "!!", ALGORITHM: "HmacSHA256"}, 400, "The header x-connect-authorization is not Base64. "),
        ({"Accept": "text/plain"}, 406, "HTTP 406 Not Acceptable"),
    ],
)
async def test_signatures(method: str, path: str, body: bytes, headers: dict[str, str], status: int, message: str) -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.request(method, f"/connectors/none/{path}/?forward=false", content=body, headers=headers)
    assert (reply.status_code, reply.json()["error_code"]) == (status, status)
    assert reply.json()["message"].startswith(message)
    assert herder.calls == []


@pytest.mark.parametrize(("headers", "status"), [({}, 400), ({SIGNATURE: "QUJD", ALGORITHM: "HmacSHA256"}, 403)])
@pytest.mark.parametrize(("method", "path"), [("POST", "tasks"), ("PUT", "fence")])
async def test_no_body_is_read(method: str, path: str, headers: dict[str, str], status: int) -> None:
    app = create_app(cast("Herder", FakeHerder()))
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(b"host", b"h"), *((name.lower().encode(), value.encode()) for name, value in headers.items())]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": f"/connectors/c/{path}",
        "query_string": b"",
        "headers": named,
    }
    await app(scope, receive, send)
    assert sent[0]["status"] == status


async def test_a_signature_beyond_ascii_is_no_failure() -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.put("/connectors/c/fence", headers=[(SIGNATURE.encode(), b"\xe4"), (ALGORITHM.encode(), b"HmacSHA256")])
    assert reply.status_code == 400
