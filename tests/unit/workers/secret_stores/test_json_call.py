from __future__ import annotations

import pytest

from tests.support.json_server import json_server
from workers.secret_stores.json_call import MOST, Limits, Server
from workers.secret_stores.store import StoreRefusalError, StoreUnreachableError


def test_no_redirect_is_followed() -> None:
    with json_server() as server:
        server.answers["GET /a"] = (307, {"a": 1})
        assert Server("it", server.url, None).call("GET", "/a", {"X-Token": "t"}) == (307, {"a": 1})
        assert [request.path for request in server.requests] == ["/a"]


def test_no_proxy_of_the_environment_gets_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    with json_server() as server, json_server() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        server.answers["GET /a"] = (200, {})
        Server("it", server.url, None).call("GET", "/a", {})
        assert proxy.requests == []


@pytest.mark.parametrize("document", [b"", b"no json", b"[1]", b'"a"', b"\xff"])
def test_an_answer_that_is_no_object_has_no_members(document: bytes) -> None:
    with json_server() as server:
        server.answers["GET /a"] = (200, document)
        assert Server("it", server.url, None).call("GET", "/a", {}) == (200, {})


def test_an_answer_has_a_limit() -> None:
    with json_server() as server:
        server.answers["GET /a"] = (200, b"x" * (MOST + 1))
        with pytest.raises(StoreRefusalError, match=f"it at 127.0.0.1:{server.port} answered with more than {MOST} bytes"):
            Server("it", server.url, None).call("GET", "/a", {})


def test_a_whole_answer_has_a_time() -> None:
    with json_server() as server:
        server.answers["GET /a"] = (200, {"a": "x"})
        with pytest.raises(StoreUnreachableError, match="did not answer in time"):
            Server("it", server.url, None, Limits(whole=-1.0)).call("GET", "/a", {})


@pytest.mark.parametrize("url", ["http://127.0.0.1:notaport", "http://[::1", "http://a\0b"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(StoreRefusalError, match="the address of it is not valid"):
        Server("it", url, None).call("GET", "/a", {})


def test_a_login_in_the_address_is_not_shown() -> None:
    with json_server() as gone:
        pass
    with pytest.raises(StoreUnreachableError) as caught:
        Server("it", f"http://user:hunter2@127.0.0.1:{gone.port}", None).call("GET", "/a", {})
    assert "hunter2" not in str(caught.value)
