"""A stand-in for Kubernetes' API: objects in memory, with what Spark's scheduler and a node ask of it.

It has the core objects of any kind by name, lists by selectors, watches as lines of JSON, patches by RFC 7396, the binding of a pod to a
node, and deletes that wait until the pod's node has ended it. It refuses everything else, so that nothing passes by mistake.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PATH = re.compile(r"/api/v1/namespaces/([^/]+)/([^/]+)(?:/([^/]+)(?:/([^/]+))?)?")
"""Namespace, kind, name, and a part of the object, such as its status."""
TERM = re.compile(r"(!?)([\w./-]+)(?:\s*(==?|!=)\s*([^,()]*)|\s+(in|notin)\s*\(([^)]*)\))?(?:,|$)")
ENDED = ("Succeeded", "Failed")

Document = dict[str, Any]
Event = tuple[str, str, Document | None, Document | None]
"""Namespace, kind, and the object before and after a change."""


class Refused(Exception):  # noqa: N818 - an answer, not an error of the server
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Objects:
    """What the API stores. An object's version is the number of changes up to its own."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.open = True
        self._kept: dict[tuple[str, str, str], Document] = {}
        self._events: list[Event] = []

    @property
    def version(self) -> int:
        return len(self._events)

    def get(self, place: tuple[str, str, str]) -> Document:
        if place not in self._kept:
            raise Refused(404, "NotFound")
        return self._kept[place]

    def listed(self, namespace: str, kind: str, query: Mapping[str, str]) -> list[Document]:
        found = (each for place, each in self._kept.items() if place[:2] == (namespace, kind))
        return [each for each in found if selected(each, query)]

    def create(self, namespace: str, kind: str, given: Document) -> Document:
        place = (namespace, kind, given["metadata"]["name"])
        if place in self._kept:
            raise Refused(409, "AlreadyExists")
        named = {**given["metadata"], "namespace": namespace, "uid": str(uuid.uuid4()), "creationTimestamp": now()}
        status = {"status": {"phase": "Pending"}} if kind == "pods" else {}
        return self.put(place, {**given, "metadata": named, **status})

    def put(self, place: tuple[str, str, str], after: Document) -> Document:
        with self.changed:
            after["metadata"]["resourceVersion"] = str(self.version + 1)
            self._events.append((*place[:2], self._kept.get(place), after))
            self._kept[place] = after
            self.changed.notify_all()
        return after

    def delete(self, place: tuple[str, str, str], seconds: int | None) -> Document:
        found = self.get(place)
        runs = "nodeName" in found.get("spec", {}) and found["status"]["phase"] not in ENDED
        if runs and seconds != 0:
            # Its node ends it, and deletes it then.
            leaving = deepcopy(found)
            leaving["metadata"].update(deletionTimestamp=now(), deletionGracePeriodSeconds=30 if seconds is None else seconds)
            return self.put(place, leaving)
        with self.changed:
            gone = deepcopy(found)
            gone["metadata"]["resourceVersion"] = str(self.version + 1)
            self._events.append((*place[:2], gone, None))
            del self._kept[place]
            self.changed.notify_all()
        return gone

    def watched(self, namespace: str, kind: str, query: Mapping[str, str]) -> Iterator[Document]:
        """The changes since the version that is asked for; without one, first all objects. An object that a change selects is added."""
        end = time.monotonic() + float(query.get("timeoutSeconds", 1800))
        read = int(query.get("resourceVersion") or 0)
        if not read:
            with self.changed:
                read, found = self.version, self.listed(namespace, kind, query)
            yield from ({"type": "ADDED", "object": each} for each in found)
        while True:
            with self.changed:
                while self.version == read and self.open and (left := end - time.monotonic()) > 0:
                    self.changed.wait(left)
                events, read = self._events[read:], self.version
            for where, what, before, after in events:
                old = before if before is not None and selected(before, query) else None
                new = after if after is not None and selected(after, query) else None
                if (where, what) == (namespace, kind) and (shown := new or old) is not None:
                    yield {"type": "DELETED" if new is None else "ADDED" if old is None else "MODIFIED", "object": shown}
            if not self.open or time.monotonic() >= end:
                return


def selected(document: Document, query: Mapping[str, str]) -> bool:
    labels = document["metadata"].get("labels", {})
    if not all(_holds(labels.get(term[2]), term) for term in TERM.finditer(query.get("labelSelector", ""))):
        return False
    return all(_holds(_field(document, term[2]), term) for term in TERM.finditer(query.get("fieldSelector", "")))


def _holds(value: str | None, term: re.Match[str]) -> bool:
    _, _, sign, one, word, several = term.groups()
    if sign:
        return (value == one) is (sign != "!=")
    if word:
        return (value in re.split(r"\s*,\s*", several.strip())) is (word == "in")
    return (value is None) is (term[1] == "!")


def _field(document: Document, path: str) -> Any:
    found: Any = document
    for name in path.split("."):
        found = found.get(name, "")
    return found


def merged(into: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    made = dict(into) if isinstance(into, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = merged(made.get(name), value)
    return made


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _place(path: str) -> re.Match[str]:
    found = PATH.fullmatch(path)
    if found is None:
        raise Refused(404, f"The stand-in has no {path}")
    return found


@contextmanager
def api_server() -> Iterator[str]:
    """The address of an API without objects, within the block."""
    objects = Objects()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            url = urlsplit(self.path)
            query = dict(parse_qsl(url.query))
            try:
                found = _place(url.path)
                if query.get("watch") == "true":
                    self._watch(objects.watched(found[1], found[2], query))
                    return
                with objects.changed:
                    answer = self._done(found, query, json.loads(text) if text else {})
                code = 201 if self.command == "POST" else 200
            except Refused as refused:
                code, reason = refused.code, str(refused)
                answer = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason}
            self._say(code, answer)

        def _done(self, found: re.Match[str], query: Mapping[str, str], body: Any) -> Document:
            namespace, kind, name, part = found.groups()
            place = (namespace, kind, name)
            match self.command, part:
                case "POST", None if name is None:
                    return objects.create(namespace, kind, body)
                case "GET", None if name is None:
                    items = objects.listed(namespace, kind, query)
                    return {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": str(objects.version)}, "items": items}
                case "GET", None:
                    return objects.get(place)
                case "PATCH", None | "status" if self.headers["Content-Type"] == "application/merge-patch+json":
                    return objects.put(place, deepcopy(merged(objects.get(place), body)))
                case "POST", "binding":
                    objects.put(place, deepcopy(merged(objects.get(place), {"spec": {"nodeName": body["target"]["name"]}})))
                    return {"kind": "Status", "apiVersion": "v1", "status": "Success"}
                case "DELETE", None if name is None:
                    for each in objects.listed(namespace, kind, query):
                        objects.delete((namespace, kind, each["metadata"]["name"]), body.get("gracePeriodSeconds"))
                    return {"kind": "Status", "apiVersion": "v1", "status": "Success"}
                case "DELETE", None:
                    return objects.delete(place, body.get("gracePeriodSeconds"))
            raise Refused(405, f"The stand-in has no {self.command} of {self.path}")

        def _watch(self, events: Iterator[Document]) -> None:
            if self.headers.get("Upgrade") == "websocket":
                # An answer that is none of a WebSocket: clients ask again without one.
                self._say(200, {})
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in events:
                self._chunk(json.dumps(event).encode() + b"\n")
            self._chunk(b"")

        def _chunk(self, content: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))

        def _say(self, code: int, answer: Document) -> None:
            content = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parameter's name in http.server
            """What Spark says of the answers is in its own log."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            # A client that is killed is part of the test. An error of the stand-in is not.
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        with objects.changed:
            objects.open = False
            objects.changed.notify_all()
        server.shutdown()
        server.server_close()
        thread.join()
