from __future__ import annotations

import socket

import pytest

from connector.errors import CdcError
from workers.rest.listeners import Listener, admin_listeners, advertised, listeners

HTTP, OTHER, TLS = Listener("a", 1), Listener("b", 2), Listener("c", 3, https=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (Listener("", 8083),)),
        ("http://:8083", (Listener("", 8083),)),
        ("HTTP://0.0.0.0:1 , https://[::1]:2", (Listener("", 1), Listener("::1", 2, https=True))),
        (
            "https://connect.example.com:8443,https://[::]:0",
            (Listener("connect.example.com", 8443, https=True), Listener("", 0, https=True)),
        ),
    ],
)
def test_addresses(text: str, expected: tuple[Listener, ...]) -> None:
    assert listeners({"listeners": text}) == expected


@pytest.mark.parametrize("text", ["ftp://a:1", "http://a", "https://", "a:1", "http://a:b", "http://a:99999", "http://a:1,"])
@pytest.mark.parametrize("key", ["listeners", "admin.listeners"])
def test_invalid_addresses(key: str, text: str) -> None:
    with pytest.raises(CdcError, match=f"property {key} holds"):
        (listeners if key == "listeners" else admin_listeners)({key: text})


def test_admin_absent_empty_and_given() -> None:
    assert admin_listeners({}) is None
    assert admin_listeners({"admin.listeners": " "}) == ()
    assert admin_listeners({"admin.listeners": "https://a:1"}) == (Listener("a", 1, https=True),)


@pytest.mark.parametrize(
    ("properties", "served", "expected"),
    [
        ({}, [HTTP, OTHER], ("http", "a", 1)),
        ({}, [TLS, OTHER], ("http", "b", 2)),
        ({}, [TLS], ("https", "c", 3)),
        ({"rest.advertised.listener": "HTTPS"}, [HTTP, TLS], ("https", "c", 3)),
        ({"rest.advertised.listener": "https"}, [HTTP], ("http", "a", 1)),
        ({"rest.advertised.host.name": "h"}, [TLS], ("https", "h", 3)),
        ({"rest.advertised.port": "9"}, [HTTP], ("http", "a", 9)),
    ],
)
def test_the_worker_s_own_name(properties: dict[str, str], served: list[Listener], expected: tuple[str, str, int]) -> None:
    assert advertised(properties, served) == expected


@pytest.mark.parametrize("value", [{"rest.advertised.listener": "ftp"}, {"rest.advertised.port": "0"}, {"rest.advertised.port": "x"}])
def test_a_name_that_cannot_be(value: dict[str, str]) -> None:
    with pytest.raises(CdcError, match=next(iter(value))):
        advertised(value, [HTTP])


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Give this machine the name ``box`` with these addresses."""

    def look_up(name: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        assert name == "box"
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses]
        return [(family, socket.SOCK_STREAM, 6, "", (address, 0)) for family, address in zip(families, addresses, strict=True)]

    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.mark.parametrize(
    ("addresses", "host"),
    [
        (["172.17.0.2"], "172.17.0.2"),
        (["2001:db8::7", "172.17.0.2"], "172.17.0.2"),
        (["fe80::1%eth0", "2001:db8::7"], "2001:db8::7"),
        (["127.0.1.1", "172.17.0.2"], "172.17.0.2"),
        (["127.0.1.1"], "box"),
        (["::1"], "box"),
        ([], "box"),
    ],
)
def test_a_listener_on_all_addresses_has_that_of_the_machine_s_name(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str], host: str
) -> None:
    named(monkeypatch, *addresses)
    assert advertised({}, [Listener("", 5)]) == ("http", host, 5)
    assert advertised({"rest.advertised.host.name": "given"}, [Listener("", 5)]) == ("http", "given", 5)
