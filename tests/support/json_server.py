"""A server in this process that answers JSON by method and path and keeps the requests."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.project import TLS


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class JsonServer:
    """``answers``: "METHOD path" → (status, document), or → None for a request that is never answered. Other requests get 404."""

    port: int = 0
    answers: dict[str, tuple[int, object] | None] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    """Set by each request."""
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def json_server(*, tls: bool = False) -> Iterator[JsonServer]:
    """Serves on the loopback interface, with tls by the certificate of :data:`tests.support.project.TLS`."""
    known = JsonServer()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            known.requests.append(Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            known.asked.set()
            answer = known.answers.get(f"{self.command} {self.path}", (404, {"message": "no such thing"}))
            if answer is None:
                known.ended.wait()
                return
            status, document = answer
            payload = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parameter's name in http.server
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that goes away is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    known.port = server.server_address[1]
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield known
    finally:
        known.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
