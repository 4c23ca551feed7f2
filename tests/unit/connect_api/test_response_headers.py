"""Added headers and their rank, as recorded: the route's own header holds against a rule, and a rule against CORS."""

from __future__ import annotations

from typing import Any, cast

import httpx

from connect_api.app import create_app
from connect_api.herder import Herder
from connect_api.response_headers import HeaderRule, ResponseHeaders, merged
from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder

OWN = [(b"content-type", b"application/json"), (b"content-length", b"2")]
VARY = [(b"vary", b"Origin")]


@each_case(
    ("rules", "expected"),
    [
        ([], [*VARY, *OWN]),
        ([HeaderRule("X-One", "1")], [*VARY, (b"x-one", b"1"), *OWN]),
        ([HeaderRule("X-One", "1"), HeaderRule("x-one", "2")], [*VARY, (b"x-one", b"2"), *OWN]),
        ([HeaderRule("X-One", "1"), HeaderRule("X-One", "2", add=True)], [*VARY, (b"x-one", b"1"), (b"x-one", b"2"), *OWN]),
        ([HeaderRule("Vary", "Y")], [(b"vary", b"Y"), *OWN]),
        ([HeaderRule("Vary", "Y", add=True)], [*VARY, (b"vary", b"Y"), *OWN]),
        ([HeaderRule("Content-Type", "text/x")], [*VARY, *OWN]),
        ([HeaderRule("Expires", "86400000", date=True)], [*VARY, (b"expires", b"Fri, 02 Jan 1970 00:00:00 GMT"), *OWN]),
        ([HeaderRule("Expires", "-500", date=True)], [*VARY, (b"expires", b"Wed, 31 Dec 1969 23:59:59 GMT"), *OWN]),
    ],
)
def test_rank_of_headers(rules: list[HeaderRule], expected: list[tuple[bytes, bytes]]) -> None:
    assert merged(VARY, rules, OWN, now=0.0) == expected


async def test_failures_carry_the_rules_headers() -> None:
    app = create_app(cast("Herder", FakeHerder()), header_rules=[HeaderRule("X-Frame-Options", "DENY")])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://connect") as client:
        for path in ("/", "/nowhere", "/connectors//x"):
            assert (await client.get(path)).headers["x-frame-options"] == "DENY"


async def test_other_protocols_pass_untouched() -> None:
    seen: list[Any] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope)

    await ResponseHeaders(app, None, [])({"type": "lifespan"}, cast("Any", None), cast("Any", None))
    assert seen == [{"type": "lifespan"}]
