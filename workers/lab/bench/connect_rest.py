"""The calls of Kafka Connect's REST interface that a run needs."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from workers.lab.bench.failure import BenchError

SECONDS: Final = 90.0
"""Kafka Connect's own limit for a request."""
NO_ANSWER: Final = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)


class ConnectRest:
    """A worker's REST interface. Every call blocks. It raises BenchError with the worker's message if the worker refuses it."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def answers(self, path: str) -> bool:
        """Whether a GET is answered with 200 now."""
        try:
            self._open("GET", path)
        except NO_ANSWER:
            return False
        return True

    def version(self) -> str:
        """The version of Kafka Connect that the worker reports."""
        return str(self.call("GET", "/")["version"])

    def plugin_version(self, connector_class: str) -> str:
        """The connector's version in the worker's list of plugins."""
        for plugin in self.call("GET", "/connector-plugins"):
            if plugin["class"] == connector_class:
                return str(plugin["version"])
        raise BenchError(f"The worker at {self.url} has no {connector_class}. Install the Debezium PostgreSQL connector in it.")

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """POST a connector and wait for the answer."""
        self.call("POST", "/connectors", {"name": name, "config": dict(config)})

    def delete(self, name: str) -> None:
        """DELETE a connector and wait for the answer. Its task may still run."""
        self.call("DELETE", f"/connectors/{name}")

    def turn(self, name: str, verb: str) -> None:
        """``pause`` or ``resume`` a connector and wait for the answer. Its task may not have changed its state yet."""
        self.call("PUT", f"/connectors/{name}/{verb}")

    def task_states(self, name: str) -> list[str]:
        """The states of the connector's tasks. Raises BenchError with the trace's first line when one or the connector failed."""
        status = self.call("GET", f"/connectors/{name}/status")
        for part in (status["connector"], *status["tasks"]):
            if part["state"] == "FAILED":
                raise BenchError(f"The connector failed: {str(part.get('trace') or 'no trace').splitlines()[0]}")
        return [str(task["state"]) for task in status["tasks"]]

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer's JSON, None when it is empty."""
        try:
            text = self._open(method, path, None if body is None else json.dumps(body).encode())
        except urllib.error.HTTPError as refused:
            words = refused.read().decode(errors="replace").strip()
            raise BenchError(f"{method} {self.url}{path} was answered with {refused.code}: {words}") from None
        except NO_ANSWER as problem:
            raise BenchError(f"{method} {self.url}{path} got no answer: {problem}") from None
        return json.loads(text) if text else None

    def _open(self, method: str, path: str, content: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, content, headers, method=method)  # noqa: S310 - the address is the user's own
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - the same
            text: bytes = answer.read()
            return text
