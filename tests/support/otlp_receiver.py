"""Takes what is exported by OTLP over HTTP, and decodes it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class OtlpReceiver:
    """Listens on ``url`` within a ``with`` block. It answers each request with ``status``."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, bytes]] = []
        self.status = 200
        self.arrived = threading.Semaphore(0)
        """Has one permit for each request."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.requests.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                receiver.arrived.release()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name in the standard library)
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def metrics(self) -> dict[str, Any]:
        """The metrics of the last request that had some by their names, and their resource under the empty name."""
        for path, body in reversed(self.requests):
            if path == "/v1/metrics":
                [resource] = ExportMetricsServiceRequest.FromString(body).resource_metrics
                [scope] = resource.scope_metrics
                assert scope.scope.name == "understudy"
                return {metric.name: metric for metric in scope.metrics} | {"": resource.resource}
        return {}

    def spans(self) -> list[Any]:
        """All spans so far."""
        bodies = [body for path, body in self.requests if path == "/v1/traces"]
        return [
            span
            for body in bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
