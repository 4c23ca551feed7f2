"""Proxies of the environment: downloads use them, calls of the machine's own address do not."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from workers.quickstart.demo.stack import _healthy
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.ivy import fetch_jars
from workers.quickstart.embedded.java import find_java

pytestmark = pytest.mark.server

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Proxy(BaseHTTPRequestHandler):
    """Refuses all calls."""

    seen: list[str]

    def do_CONNECT(self) -> None:
        self.seen.append(self.requestline)
        self.send_error(502)

    do_GET = do_CONNECT  # noqa: N815


class Worker(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        content = json.dumps({"status": "healthy"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The request lines that a proxy gets."""
    seen: list[str] = []
    with serving(type("Seeing", (Proxy,), {"seen": seen})) as address:
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.upper(), raising=False)
        monkeypatch.setenv("http_proxy", address)
        monkeypatch.setenv("https_proxy", address)
        yield seen


def test_the_demo_asks_its_worker_directly(proxied: list[str]) -> None:
    with serving(Worker) as worker:
        assert _healthy(worker)
    assert proxied == []
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert not _healthy(f"http://127.0.0.1:{port}")


def test_a_download_by_java_uses_the_proxy(proxied: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNDERSTUDY_IVY_SETTINGS", raising=False)
    with pytest.raises(EmbeddedError, match="could not be fetched"):
        fetch_jars(find_java(), "probe", [("org.example", "missing", "1")], tmp_path, tmp_path / "ivy")
    assert any(line.startswith("CONNECT ") and ":443 " in line for line in proxied), proxied
