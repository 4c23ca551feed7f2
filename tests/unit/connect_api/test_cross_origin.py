"""CORS as it was recorded from Kafka Connect 4.3.0."""

from __future__ import annotations

from typing import cast

import httpx
import pytest

from connect_api.app import create_app
from connect_api.cross_origin import CrossOrigin
from connect_api.herder import Herder
from connector.catalog.name_matcher import NameMatcher
from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder

VARY = (b"vary", b"Origin")
PREFLIGHT = (b"access-control-request-method", b"PUT")


def rules(origin: str, methods: str = "GET,POST,HEAD") -> CrossOrigin:
    return CrossOrigin(None if origin == "*" else NameMatcher([origin], "access.control.allow.origin"), methods)


def asked(allowed: CrossOrigin, origin: bytes, method: str = "GET", *more: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    return dict(allowed.headers(method, [(b"host", b"connect"), *([(b"origin", origin)] if origin else []), *more]))


@each_case(
    ("allowed", "origin", "named"),
    [
        ("*", b"http://a.example", True),
        ("*", b"null", True),
        ("http://a.example", b"http://a.example", True),
        ("http://a.example", b"HTTP://A.EXAMPLE", True),
        ("http://a.example", b"http://aXexample", True),
        ("http://a.example", b"https://a.example", False),
        ("http://a.example", b"http://a.example.evil", False),
        ("http://a.example", b"http://evil.http://a.example", False),
        ("http://a.example", b"null", False),
        ("http://.*.b.example", b"http://x.b.example", True),
        ("http://a.example", b"http://evil http://a.example", True),
        ("http://a.example", b"", False),
    ],
)
def test_an_origin_is_sent_back_when_an_expression_fits_the_whole_of_it(allowed: str, origin: bytes, named: bool) -> None:
    headers = asked(rules(allowed), origin)
    assert headers.pop(b"vary") == b"Origin"
    assert headers == ({b"access-control-allow-origin": origin} if named else {})


def test_a_preflight_names_what_is_allowed_for_any_request() -> None:
    allowed = rules("http://a.example", "GET,PUT")
    assert allowed.headers("OPTIONS", [(b"origin", b"http://a.example"), PREFLIGHT]) == [
        VARY,
        (b"access-control-allow-origin", b"http://a.example"),
        (b"access-control-allow-methods", b"GET,PUT"),
        (b"access-control-allow-headers", b"Content-Type"),
        (b"access-control-max-age", b"60"),
    ]


@pytest.mark.parametrize(("method", "header"), [("OPTIONS", (b"accept", b"*/*")), ("GET", PREFLIGHT)])
def test_other_requests_get_only_the_origin_header(method: str, header: tuple[bytes, bytes]) -> None:
    assert asked(rules("*"), b"http://a", method, header).keys() == {b"vary", b"access-control-allow-origin"}


def test_methods_have_the_reference_s_default() -> None:
    assert asked(rules("*"), b"http://a", "OPTIONS", PREFLIGHT)[b"access-control-allow-methods"] == b"GET,POST,HEAD"


async def test_every_answer_carries_the_headers_failures_and_preflights_too() -> None:
    app = create_app(cast("Herder", FakeHerder()), cross_origin=rules("http://a.example"))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://connect", headers={"Origin": "http://a.example"}
    ) as client:
        for method, path, status in (
            ("GET", "/connectors", 200),
            ("GET", "/nowhere", 404),
            ("DELETE", "/", 405),
            ("GET", "/connectors//x", 400),
            ("OPTIONS", "/connectors", 200),
        ):
            answer = await client.request(method, path)
            assert (answer.status_code, answer.headers.get("access-control-allow-origin")) == (status, "http://a.example")
        answer = await client.request("OPTIONS", "/connectors", headers={"Access-Control-Request-Method": "PUT"})
        # The request goes on to what answers OPTIONS.
        assert answer.text == "HEAD, POST, GET, OPTIONS"
        assert answer.headers["access-control-max-age"] == "60"
        other = await client.get("/connectors", headers={"Origin": "http://evil"})
        assert other.json() == []
        assert "access-control-allow-origin" not in other.headers
