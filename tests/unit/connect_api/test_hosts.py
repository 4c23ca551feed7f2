"""The Host header of requests, and the hosts that a worker may be limited to."""

from __future__ import annotations

from typing import cast

import httpx
import pytest

from connect_api.app import create_admin_app, create_app
from connect_api.herder import Herder
from connect_api.hosts import AllowedHosts, host_name
from connector.errors import CdcError
from tests.support.each_case import each_case
from tests.support.fake_herder import CLASS, FakeHerder
from tests.support.raw_http import RawHttp, statuses
from workers.rest.http_settings import HttpSettings


@each_case(
    ("header", "name"),
    [
        ("h", "h"),
        ("H.Example.:8083", "h.example"),
        ("kafka_connect:8083", "kafka_connect"),
        ("10.0.0.1:1", "10.0.0.1"),
        ("[::1]:8083", "::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("h:", "h"),
        ("xn--a.example", "xn--a.example"),
        ("", None),
        ("a b", None),
        ("a/b", None),
        ("user@h", None),
        ("h:x", None),
        ("h:123456", None),
        ("[zz]", None),
        ("<script>", None),
        ("a\\b", None),
        ('a"', None),
        ("ä", None),
        ("h\n", None),
    ],
)
def test_names_of_hosts(header: str, name: str | None) -> None:
    assert host_name(header) == name


@each_case(
    ("lines", "status"),
    [
        (b"", 400),
        (b"Host: a\r\nHost: a\r\n", 400),
        (b"Host:\r\n", 400),
        (b"Host: a b\r\n", 400),
        (b'Host: evil"<>\r\n', 400),
        (b"Host: \xe4\r\n", 400),
        (b"Host: a\r\n", 200),
        (b"Host: \t a:8083 \r\n", 200),
    ],
)
async def test_a_request_has_one_host(lines: bytes, status: int) -> None:
    http = RawHttp(create_app(cast("Herder", FakeHerder())))
    for path in (b"/", b"/connectors", b"/health", b"/docs"):
        assert statuses(await http.exchange(b"GET " + path + b" HTTP/1.1\r\n" + lines + b"\r\n")) == [status]


async def test_http_1_0_may_leave_it_out() -> None:
    assert statuses(await RawHttp(create_app(cast("Herder", FakeHerder()))).exchange(b"GET / HTTP/1.0\r\n\r\n")) == [200]


async def test_location_leads_to_the_host_of_the_request_and_holds_no_line_end() -> None:
    body = b'{"name":"a\\r\\nX-Injected: 1","config":{"connector.class":"%s"}}' % CLASS.encode()
    head = b"POST /connectors HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    answer = await RawHttp(create_app(cast("Herder", FakeHerder()))).exchange(head + body)
    assert statuses(answer) == [201]
    assert b"\r\nlocation: http://h:1/connectors/a%0D%0AX-Injected:%201\r\n" in answer


ALLOWED = AllowedHosts(["connect.example", "Other.Example:8083"])
LIMITED = tuple(make(cast("Herder", FakeHerder()), hosts=ALLOWED) for make in (create_app, create_admin_app))


@each_case("path", ["/", "/health", "/connectors", "/docs", "/openapi.json", "/nowhere", "/admin/loggers"])
@each_case(
    ("host", "allowed"),
    [
        ("connect.example", True),
        ("CONNECT.example.:9999", True),
        ("other.example", True),
        ("localhost:8083", True),
        ("127.0.0.1:8083", True),
        ("10.1.2.3", True),
        ("[fd00::1]:8083", True),
        ("attacker.example:8083", False),
        ("connect.example.attacker.example", False),
        ("xconnect.example", False),
        ("localhost.attacker.example", False),
        ("127.0.0.1.attacker.example", False),
        ("0x7f000001", False),
    ],
)
async def test_other_hosts_are_refused(host: str, allowed: bool, path: str) -> None:
    for app in LIMITED:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
            answer = await client.get(path, headers={"Host": host})
        assert (answer.status_code != 421) is allowed
        if not allowed:
            assert answer.json()["error_code"] == 421
            assert "rest.allowed.hosts" in answer.json()["message"]


async def test_http_1_0_cannot_go_round_it() -> None:
    http = RawHttp(create_app(cast("Herder", FakeHerder()), hosts=ALLOWED))
    assert statuses(await http.exchange(b"GET / HTTP/1.0\r\n\r\n")) == [400]
    assert statuses(await http.exchange(b"GET / HTTP/1.0\r\nHost: attacker.example\r\n\r\n")) == [421]


async def test_by_default_every_host_is_answered() -> None:
    app = create_app(cast("Herder", FakeHerder()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        assert (await client.get("/", headers={"Host": "attacker.example"})).status_code == 200


def test_the_worker_s_own_name_is_always_allowed() -> None:
    settings = HttpSettings.from_properties({"rest.allowed.hosts": " a, b ,", "rest.advertised.host.name": "worker-1"})
    assert settings.allowed_hosts is not None
    for name in ("a", "b", "worker-1"):
        settings.allowed_hosts.check(name)
    assert HttpSettings.from_properties({"rest.allowed.hosts": " "}).allowed_hosts is None


@pytest.mark.parametrize("text", ["http://a", "a/b", "a,b c", "*", "*.example"])
def test_invalid_hosts_are_refused(text: str) -> None:
    with pytest.raises(CdcError, match=r"rest\.allowed\.hosts"):
        HttpSettings.from_properties({"rest.allowed.hosts": text})
