"""The calls between workers are closed to everybody; media types are looked at as the reference does it."""

from __future__ import annotations

import pytest
from fake_herder import FakeHerder, failure, rest

MISSING = "Internal request missing required signature"
INVALID = "Internal request contained invalid signature."
OTHER = (
    "This worker does not support the 'HmacSHA1' key signing algorithm used by other workers. This worker is currently configured to "
    "use: [HmacSHA256]. Check that all workers' configuration files permit the same set of signature algorithms, and correct any "
    "misconfigured worker and restart it."
)
SIGNATURE, ALGORITHM = "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm"


@pytest.mark.parametrize(("method", "path", "body"), [("POST", "tasks", b"[]"), ("PUT", "fence", b"")])
@pytest.mark.parametrize(
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


@pytest.mark.parametrize("body", [b"[]", b"null", b'[{"a":1}]', b"[null]"])
async def test_task_configurations_are_read_first(body: bytes) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.post("/connectors/c/tasks", content=body)
    assert (reply.status_code, reply.json()) == (400, failure(400, MISSING))


@pytest.mark.parametrize(
    ("body", "says"),
    [(b"", "no body"), (b"junk", "not valid JSON"), (b"{}", "JSON array"), (b"[1]", "JSON object"), (b'[{"a":{}}]', '"a"')],
)
async def test_what_is_no_list_of_configurations(body: bytes, says: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.post("/connectors/c/tasks", content=body, headers={SIGNATURE: "QUJD", ALGORITHM: "HmacSHA256"})
    assert reply.status_code == 400
    assert says in reply.json()["message"]
