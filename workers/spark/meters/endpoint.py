"""The HTTP server of a running job: ``/metrics`` for Prometheus and ``/health`` for whoever restarts the job."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from workers.spark.failure import WRONG, JobError
from workers.spark.meters.figures import Figures
from workers.spark.meters.text import CONTENT_TYPE, exposition


@contextmanager
def served(figures: Figures, job: str, port: int, address: str, limit: float) -> Iterator[int]:
    """Serve the figures within the block. Yields the port, which is a free one for 0.

    ``limit``: see :meth:`Figures.trouble`. Raises JobError when the address cannot be used.
    """
    try:
        server = _Server((address, port), _Handler)
    except OSError as error:
        raise JobError(
            WRONG, f"metrics.address {address} and metrics.port {port} cannot be used: {error.strerror or error}. Set others."
        ) from None
    server.figures, server.job, server.limit = figures, job, limit
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A connection that sends nothing must not delay the end of the job.
    block_on_close = False
    figures: Figures
    job: str
    limit: float


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10
    """Seconds that a client may take to send its request."""

    def do_GET(self) -> None:
        """Answer a request."""
        match self.path.partition("?")[0]:
            case "/metrics":
                text = exposition(self.server.figures, self.server.job, time.time())
                self._answer(HTTPStatus.OK, CONTENT_TYPE, text)
            case "/health":
                self._health()
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", "Only /metrics and /health are served.\n")

    do_HEAD = do_GET  # noqa: N815 - the base class finds it by this name

    def _health(self) -> None:
        figures = self.server.figures
        trouble = figures.trouble(self.server.limit)
        document = {
            "status": "healthy" if trouble is None else "unhealthy",
            "why": trouble,
            "last_batch": figures.job.last_batch or None,
            "unread_records": figures.job.unread,
            "set_aside": sorted(known.table or topic for topic, known in figures.topics().items() if known.aside),
        }
        code = HTTPStatus.OK if trouble is None else HTTPStatus.SERVICE_UNAVAILABLE
        self._answer(code, "application/json", json.dumps(document) + "\n")

    def _answer(self, code: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Requests are not logged."""

    def version_string(self) -> str:
        """The header ``Server``, without the version of Python."""
        return "understudy-spark"
