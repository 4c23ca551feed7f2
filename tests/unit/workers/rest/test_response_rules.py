from __future__ import annotations

import pytest

from connect_api.response_headers import HeaderRule
from connector.errors import CdcError
from workers.rest.response_rules import cross_origin, header_rules

PREFLIGHT = [(b"origin", b"http://a"), (b"access-control-request-method", b"PUT")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("set X-One: 1", (HeaderRule("X-One", "1"),)),
        (
            'add X-One:1, "set Cache-Control: no-cache, no-store"',
            (HeaderRule("X-One", "1", add=True), HeaderRule("Cache-Control", "no-cache, no-store")),
        ),
        ('"set X: \\"a\\", b"', (HeaderRule("X", '"a", b'),)),
        ("setDate Expires: 31540000000", (HeaderRule("Expires", "31540000000", date=True),)),
        ("addDate  X : 0", (HeaderRule("X", "0", add=True, date=True),)),
        # Recorded: an action in other letters passes the check and then sets.
        ("SET X: 1", (HeaderRule("X", "1"),)),
        ("ADDDATE X: 6", (HeaderRule("X", "6"),)),
    ],
)
def test_rules(text: str, expected: tuple[HeaderRule, ...]) -> None:
    assert header_rules({"response.http.headers.config": text}) == expected


@pytest.mark.parametrize(
    "text",
    [
        "X",
        "set",
        "set X",
        "set X:",
        "set X: ",
        "put X: 1",
        "set X: http://a",
        "set X Y: 1",
        "set : 1",
        "setDate X: tomorrow",
        "setDate X: 999999999999999",
        "setDate X: -999999999999999",
        "set X: 1,",
        '"set X: 1',
        "set X: ä",
    ],
)
def test_invalid_rules(text: str) -> None:
    with pytest.raises(CdcError, match=r"response\.http\.headers\.config"):
        header_rules({"response.http.headers.config": text})


@pytest.mark.parametrize("value", ["60000000000000", "-60000000000000"])
def test_the_most_distant_dates(value: str) -> None:
    [rule] = header_rules({"response.http.headers.config": f"setDate Expires: {value}"})
    for year in (2026, 3026):
        assert rule.header((year - 1970) * 31_556_952)[1].endswith(b" GMT")


def test_without_an_origin_there_are_no_headers_of_cors() -> None:
    assert cross_origin({"access.control.allow.methods": "GET", "access.control.allow.origin": " "}) is None


@pytest.mark.parametrize(("methods", "sent"), [("", b"GET,POST,HEAD"), ("GET, PUT", b"GET,PUT")])
def test_origins_and_methods(methods: str, sent: bytes) -> None:
    rules = cross_origin({"access.control.allow.origin": "http://b, http://a", "access.control.allow.methods": methods})
    assert rules is not None
    headers = dict(rules.headers("OPTIONS", PREFLIGHT))
    assert headers[b"access-control-allow-origin"] == b"http://a"
    assert headers[b"access-control-allow-methods"] == sent


@pytest.mark.parametrize(
    ("key", "properties"),
    [
        ("access.control.allow.origin", {"access.control.allow.origin": "http://(a"}),
        ("access.control.allow.methods", {"access.control.allow.origin": "*", "access.control.allow.methods": "GET PUT"}),
    ],
)
def test_refused(key: str, properties: dict[str, str]) -> None:
    with pytest.raises(CdcError, match=key):
        cross_origin(properties)
