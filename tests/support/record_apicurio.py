"""Record :mod:`tests.support.apicurio_cases`: ``python -m tests.support.record_apicurio GENERATION JARS... > FILE``.

GENERATION is v2 or v3. JARS are folders with the jars of Kafka Connect, its JsonConverter and Apicurio's converter of that generation.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.apicurio_cases import Conversion, conversions
from tests.support.fake_registry import FakeRegistry
from tests.support.java_classes import running_java
from tests.support.record_avro import Recorder, reported


class Handler(BaseHTTPRequestHandler):
    """Serves the registry of the running case."""

    protocol_version = "HTTP/1.1"
    registry = FakeRegistry()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        named = {name.lower(): value for name, value in self.headers.items()}
        status, answer = Handler.registry.answer(self.command, self.path, named, body)
        sent = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_POST = do_PUT = _serve  # noqa: N815 - the names that http.server looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parameter's name in http.server
        """Say nothing."""


def record(java: Any, url: str, case: Conversion) -> dict[str, Any]:
    """What came of one record."""
    Handler.registry = FakeRegistry()
    converter = getattr(java.io.apicurio.registry.utils.converter, case.converter)()
    headers = java.org.apache.kafka.common.header.internals.RecordHeaders()
    try:
        converter.configure({"apicurio.registry.url": url} | case.options, case.side == "key")
        if case.schema is None:
            found = converter.fromConnectData(case.topic, headers, None, None)
        else:
            recorder = Recorder(java)
            value = None if case.value is None else recorder.connect(case.schema, case.value).value()
            found = converter.fromConnectData(case.topic, headers, recorder.schema(case.schema), value)
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is the answer
        return {"requests": Handler.registry.requests, "error": reported(problem)}
    sent = [[header.key(), bytes(header.value()).hex()] for header in headers.toArray()]
    return {"requests": Handler.registry.requests, "bytes": None if found is None else bytes(found).hex(), "headers": sent}


def main() -> None:
    """Write the answers, one case a line."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/apis/registry/{sys.argv[1]}"
    with running_java(sys.argv[2:]) as java:
        lines = [f"{json.dumps(case.name)}: {json.dumps(record(java, url, case), ensure_ascii=False)}" for case in conversions()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
