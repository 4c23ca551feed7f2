"""The registry's client against a test registry on the loopback interface. No Spark is started."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.topics.apicurio import ApicurioRegistry, UseId
from workers.spark.topics.avro import connect_schema
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
    "/schemas/ids/7": (200, {"schema": "{}", "schemaType": "JSON"}),
    "/schemas/ids/8": (200, {"schema": "message A {}", "schemaType": "PROTOBUF", "references": [{"name": "google/type/date.proto"}]}),
    "/schemas/ids/9": (200, {"schema": "message A {}", "schemaType": "PROTOBUF", "references": [{"name": "own.proto"}]}),
    "/schemas/guids/01234567-89ab-cdef-0123-456789abcdef": (200, {"schema": SCHEMA}),
}
NESTED = {
    "type": "record",
    "name": "Envelope",
    "namespace": "s.t",
    "fields": [
        {"name": "before", "type": ["null", "Value"], "default": None},
        {"name": "after", "type": ["null", "s.t.Value"], "default": None},
        {"name": "source", "type": "other.Source"},
        {"name": "kinds", "type": {"type": "array", "items": "other.Kind"}},
        {"name": "own", "type": {"type": "record", "name": "Own", "fields": [{"name": "kind", "type": "other.Kind"}]}},
    ],
}
VALUE = {"type": "record", "name": "Value", "namespace": "s.t", "fields": [{"name": "n", "type": ["null", "other.Number"]}]}
SOURCE = {"type": "record", "name": "Source", "namespace": "other", "fields": [{"name": "kind", "type": "Kind"}]}
KIND = {"type": "enum", "name": "Kind", "namespace": "other", "symbols": ["A"]}
NUMBER = {"type": "record", "name": "other.Number", "fields": [{"name": "scale", "type": {"type": "int", "connect.type": "int16"}}]}


def of_artifact(name: str, version: str) -> dict[str, str]:
    return {"artifactId": name, "version": version, "name": name}


for api, ids, content in (("v3", "contentIds", "/content"), ("v2", "globalIds", "")):
    base, there = f"/apis/registry/{api}", f"/apis/registry/{api}/groups"
    ANSWERS |= {
        f"{base}/ids/{ids}/8": (200, NESTED),
        f"{base}/ids/{ids}/8/references": (200, [of_artifact("v", "1"), {**of_artifact("a/b", "2"), "groupId": "g"}]),
        f"{there}/default/artifacts/v/versions/1{content}": (200, VALUE),
        f"{there}/default/artifacts/v/versions/1/references": (200, [of_artifact("n", "1")]),
        f"{there}/g/artifacts/a%2Fb/versions/2{content}": (200, SOURCE),
        f"{there}/g/artifacts/a%2Fb/versions/2/references": (200, [of_artifact("k", "3")]),
        f"{there}/default/artifacts/k/versions/3{content}": (200, KIND),
        f"{there}/default/artifacts/n/versions/1{content}": (200, NUMBER),
        f"{base}/ids/{ids}/9": (200, NESTED),
        f"{base}/ids/{ids}/9/references": (200, [of_artifact("gone", "1")]),
        f"{base}/ids/{ids}/1": (200, SCHEMA),
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


def test_type_of_the_schemas_is_that_of_the_format(url: str) -> None:
    with SchemaRegistry(url, kind="JSON") as registry:
        assert registry.schema(7) == "{}"
        assert registry.schema(1) == Unreadable("its schema 1 is of type AVRO, not JSON")


def test_schema_has_a_guid(url: str) -> None:
    with SchemaRegistry(url) as registry:
        assert registry.schema("01234567-89ab-cdef-0123-456789abcdef") == SCHEMA
        assert registry.schema("gone") == Unreadable(f"the registry {url} has no schema gone")


def test_files_that_every_reader_knows_are_not_followed(url: str) -> None:
    with SchemaRegistry(url, kind="PROTOBUF") as registry:
        assert registry.schema(8) == "message A {}"
        assert registry.schema(9) == Unreadable("its schema 9 refers to other schemas, which are not followed")


@pytest.mark.parametrize(("api", "use_id"), [("v3", "contentId"), ("v2", "globalId")])
def test_apicurio_has_whole_schemas_and_those_of_several_artifacts(url: str, api: str, use_id: UseId) -> None:
    with ApicurioRegistry(f"{url}/apis/registry/{api}", use_id) as registry:
        assert registry.schema(1) == SCHEMA
        text = registry.schema(8)
        assert isinstance(text, str)
        assert registry.schema(10) == Unreadable(f"the registry {url}/apis/registry/{api} has no schema 10")
        missing = registry.schema(9)
    assert isinstance(missing, Unreadable)
    assert "lacks an artifact that its schema 9 refers to" in missing.reason
    # Each type is defined where it is used for the first time, as Avro wants it.
    before, after, source, kinds, own = json.loads(text)["fields"]
    number = before["type"][1]["fields"][0]["type"][1]
    assert (number["namespace"], number["name"], number["fields"][0]["type"]["connect.type"]) == ("other", "Number", "int16")
    assert after["type"] == ["null", "s.t.Value"]
    assert source["type"]["fields"][0]["type"] == KIND
    assert (kinds["type"]["items"], own["type"]["fields"][0]["type"]) == ("other.Kind", "other.Kind")
    read = connect_schema(text)
    assert [field["field"] for field in cast("list[dict[str, object]]", read["fields"])] == ["before", "after", "source", "kinds", "own"]


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
