"""The registry's client against a test registry on the loopback interface. No Spark is started."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.known import Unreadable
from workers.spark.topics.registry import RegistryAuth, SchemaRegistry

SCHEMA = '{"type":"record","name":"R","fields":[]}'
ANSWERS: dict[str, tuple[int, object]] = {
    "/schemas/ids/1": (200, {"schema": SCHEMA}),
    "/ccompat/v7/schemas/ids/1": (200, {"schema": SCHEMA, "schemaType": "AVRO", "references": []}),
    "/schemas/ids/2": (200, {"schema": SCHEMA, "references": [{"name": "o.Other", "subject": "other", "version": 1}]}),
    "/schemas/ids/3": (200, {"schema": "syntax = 'proto3';", "schemaType": "PROTOBUF"}),
    "/schemas/ids/4": (500, {"error_code": 50001}),
    "/schemas/ids/5": (200, "a page"),
}


class Registry(BaseHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012 - cleared by the fixture
    wanted: str | None = None

    def do_GET(self) -> None:
        self.asked.append(self.path)
        code, body = ANSWERS.get(self.path, (404, {"error_code": 40403}))
        if self.wanted is not None and self.headers.get("Authorization") != self.wanted:
            code, body = 401, {"error_code": 401}
        self.send_response(code)
        self.end_headers()
        self.wfile.write(body.encode() if isinstance(body, str) else json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture
def url() -> Iterator[str]:
    Registry.asked.clear()
    Registry.wanted = None
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_schema_is_fetched_once(url: str) -> None:
    with SchemaRegistry(f"{url}/") as registry:
        assert [registry.schema(1), registry.schema(1)] == [SCHEMA, SCHEMA]
    assert Registry.asked == ["/schemas/ids/1"]


def test_registry_below_a_path(url: str) -> None:
    with SchemaRegistry(f"{url}/ccompat/v7") as registry:
        assert registry.schema(1) == SCHEMA


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        (RegistryAuth(user="reader", password="s3cret"), "Basic " + base64.b64encode(b"reader:s3cret").decode()),
        (RegistryAuth(token="t0ken"), "Bearer t0ken"),
    ],
)
def test_credentials_are_sent(url: str, auth: RegistryAuth, header: str) -> None:
    Registry.wanted = header
    with SchemaRegistry(url, auth) as registry:
        assert registry.schema(1) == SCHEMA
    assert "s3cret" not in repr(auth)
    assert "t0ken" not in repr(auth)


def test_refused_credentials_are_reported_without_showing_them(url: str) -> None:
    Registry.wanted = "Bearer right"
    with (
        SchemaRegistry(url, RegistryAuth(token="wrong")) as registry,
        pytest.raises(JobError, match="refuses these credentials") as failure,
    ):
        registry.schema(1)
    assert "wrong" not in str(failure.value)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (2, "its schema 2 refers to other schemas, which are not followed"),
        (3, "its schema 3 is of type PROTOBUF, not AVRO"),
        (6, "the registry {url} has no schema 6"),
    ],
)
def test_schema_that_is_no_avro_of_this_registry_has_a_reason(url: str, number: int, said: str) -> None:
    with SchemaRegistry(url) as registry:
        assert registry.schema(number) == Unreadable(said.format(url=url))


@pytest.mark.parametrize(("number", "said"), [(4, "answers 500 for schema 4"), (5, "holds no schema")])
def test_what_cannot_be_read_is_refused(url: str, number: int, said: str) -> None:
    with SchemaRegistry(url) as registry, pytest.raises(JobError, match=said) as failure:
        registry.schema(number)
    assert failure.value.code == UNREADABLE


def test_registry_that_is_not_there() -> None:
    with SchemaRegistry("http://127.0.0.1:1") as registry, pytest.raises(JobError, match=r"cannot be reached \(ConnectError\)"):
        registry.schema(1)


@pytest.mark.parametrize(
    ("url", "auth", "said"),
    [
        ("registry:8081", None, "does not begin with http"),
        ("http://u:p@registry:8081", None, "holds a user"),
        ("http://registry:8081", RegistryAuth(user="u", token="t"), "both a user and a token"),
        ("https://registry", RegistryAuth(ca=Path("/does/not/exist.pem")), "cannot be read as PEM"),
    ],
)
def test_wrong_settings_are_refused(url: str, auth: RegistryAuth | None, said: str) -> None:
    with pytest.raises(JobError, match=said) as failure:
        SchemaRegistry(url, auth)
    assert "u:p" not in str(failure.value)
