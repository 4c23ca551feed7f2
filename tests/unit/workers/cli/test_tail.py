"""Which topic ``understudy tail`` reads."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import orjson
import pytest

from workers.__main__ import main
from workers.cli import tail
from workers.cli.failure import CommandError
from workers.cli.kafka import client_properties
from workers.cli.output import Output
from workers.cli.records.decoding import Decoder
from workers.cli.rest import Rest
from workers.cli.tail import topic_of, used_topics

ROUTED = {"topic.prefix": "shop", "transforms": "route"}


def test_the_connectors_own_rule() -> None:
    assert topic_of({"topic.prefix": "shop"}, "public.t", []) == "shop.public.t"
    assert topic_of({"topic.prefix": "shop", "topic.delimiter": "-"}, "public.t", []) == "shop-public-t"
    assert topic_of({"topic.prefix": "shop"}, "t", []) == "shop.public.t"
    assert topic_of({"topic.prefix": "shop"}, "public.my table", []) == "shop.public.my_table"
    assert topic_of({"topic.prefix": "shop"}, 'public."größe"', []) == "shop.public.gr__e"
    assert topic_of({"topic.prefix": "shop", "topic.delimiter": "-"}, "public.a.b", []) == "shop-public-a.b"
    default = {"topic.prefix": "shop", "topic.naming.strategy": "io.debezium.schema.DefaultTopicNamingStrategy"}
    assert topic_of(default, "public.t", []) == "shop.t"
    assert topic_of(ROUTED, "public.t", ["shop.public.t", "t"]) == "shop.public.t"


def test_transforms_send_records_elsewhere() -> None:
    assert topic_of(ROUTED, "public.t", ["cdc-t", "cdc-u", "t.old"]) == "cdc-t"
    assert topic_of(ROUTED, "public.my table", ["cdc-my_table"]) == "cdc-my_table"
    for used in (["a.t", "b.t"], []):
        with pytest.raises(CommandError, match=r"The transforms decide the topic of public\.t\. Name the topic itself"):
            topic_of(ROUTED, "public.t", used)


def followed(monkeypatch: pytest.MonkeyPatch, config: dict[str, str], *words: str) -> str:
    """The topic that ``understudy tail shop t`` reads when the connector has ``config``; empty if the command refuses."""
    topics: list[str] = []

    async def follow(topic: str, *_: object) -> None:
        topics.append(topic)

    def answer(asked: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=config if asked.url.path.endswith("/config") else {"shop": {"topics": []}})

    monkeypatch.setattr(tail, "_follow", follow)
    monkeypatch.setattr(tail, "open_rest", lambda *_: Rest("http://w", transport=httpx.MockTransport(answer)))
    assert main(["tail", "shop", "t", *words]) == (0 if topics else 1)
    return "".join(topics)


def test_the_prefix_may_be_a_reference_and_have_its_former_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "w.properties"
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    file.write_text(f"config.providers=env\nconfig.providers.env.class={provider}\n")
    monkeypatch.setenv("SHOP", "shop")
    assert followed(monkeypatch, {"database.server.name": "shop"}) == "shop.public.t"
    assert followed(monkeypatch, {"topic.prefix": "${env:SHOP}"}, "--worker", str(file)) == "shop.public.t"
    assert followed(monkeypatch, {"topic.prefix": "${env:SHOP}"}) == ""
    assert "references in topic.prefix, which only its worker can resolve. Give --worker FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url", ["http://u:hunter2@h:x", "http://u:hunter2@[h", "http://u:hunter2/x@h:80", "u:hunter2@h", "http://u:hunter2@h\n:80"]
)
def test_a_malformed_address_of_a_registry_is_not_quoted(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tail", "t", "--registry", url]) == 1
    own = {"topic.prefix": "shop", "value.converter.apicurio.registry.url": url}
    assert followed(monkeypatch, own) == ""
    told = capsys.readouterr().err
    assert told.count("The registry's address") == 2
    assert "hunter2" not in told


def test_where_kafka_is(tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text("bootstrap.servers=kafka:9092\nsecurity.protocol=SSL\n")
    assert client_properties(None, None) == {"bootstrap.servers": "localhost:9092"}
    assert client_properties(None, file) == {"bootstrap.servers": "kafka:9092", "security.protocol": "SSL"}
    assert client_properties("other:1", file)["bootstrap.servers"] == "other:1"


@pytest.mark.parametrize(
    ("status", "body", "topics"),
    [
        (200, {"shop": {"topics": ["shop.public.t"]}}, ["shop.public.t"]),
        (403, {"error_code": 403, "message": "Topic tracking is disabled."}, []),
        (404, {"error_code": 404, "message": "HTTP 404 Not Found"}, []),
    ],
)
def test_the_topics_in_use_as_far_as_the_worker_knows_them(status: int, body: object, topics: list[str]) -> None:
    rest = Rest("http://w:8083", transport=httpx.MockTransport(lambda _: httpx.Response(status, json=body)))
    assert used_topics(rest, "shop") == topics


def test_other_refusals_end_the_command() -> None:
    rest = Rest("http://w:8083", transport=httpx.MockTransport(lambda _: httpx.Response(500)))
    with pytest.raises(CommandError, match="answers 500"):
        used_topics(rest, "shop")


async def test_a_missing_registry_is_said_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def records(*_: object) -> AsyncGenerator[Any, None]:
        for offset in range(3):
            yield SimpleNamespace(
                topic="t", partition=0, offset=offset, timestamp=0, key=b"\0\0\0\0\1\2", value=b"\0\0\0\0\2\xff", headers=()
            )

    monkeypatch.setattr(tail, "records", records)
    shown = io.StringIO()
    await tail._follow("t", {}, "beginning", 3, Decoder(), Output("json", shown))
    assert shown.getvalue().count('"base64":"AAAAAAL/"') == 3
    assert capsys.readouterr().err.splitlines() == [f"understudy: {tail._NO_REGISTRY}"]


@pytest.mark.parametrize("form", ["json", "text"])
async def test_a_column_of_a_thousand_levels_ends_nothing(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = b"[" * 1000 + b"]" * 1000
    row = b'{"a":%b,"b":%b}'
    value = b'{"op":"u","source":{"schema":"s","table":"t"},"before":%b,"after":%b}' % (row % (deep, b"1"), row % (deep, b"2"))

    async def records(*_: object) -> AsyncGenerator[Any, None]:
        yield SimpleNamespace(topic="t", partition=0, offset=0, timestamp=0, key=None, value=value, headers=())

    monkeypatch.setattr(tail, "records", records)
    shown = io.StringIO()
    await tail._follow("t", {}, "beginning", 1, Decoder(), Output(form, shown))
    if form == "json":
        # Python 3.12 and later write so many levels.
        assert json.loads(shown.getvalue())["value"] in (value.decode(), orjson.loads(value))
    else:
        assert [line.strip() for line in shown.getvalue().splitlines()[1:]] == ["~ b: 1 → 2"]
