"""The ways of signals, and the data of a snapshot's signal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import httpx
import pytest

from workers.cli.channels import choose, no_way
from workers.cli.failure import CommandError
from workers.cli.offsets import read_offsets
from workers.cli.rest import Rest
from workers.cli.sending import Access, send
from workers.cli.signal import read_data
from workers.cli.snapshot import request

TABLE = {"signal.data.collection": "public.signals"}
TOPIC = {"signal.kafka.bootstrap.servers": "kafka:9092"}


@pytest.mark.parametrize(
    ("config", "ways"),
    [
        ({}, ()),
        (TABLE, ("source",)),
        ({"signal.enabled.channels": "source, kafka ,jmx", **TABLE, **TOPIC}, ("rest", "kafka", "source")),
        ({"signal.enabled.channels": "kafka", **TABLE}, ()),
        ({"signal.enabled.channels": "http"}, ("rest",)),
        ({"signal.enabled.channels": "", **TABLE}, ()),
    ],
)
def test_the_configuration_opens_ways(config: dict[str, str], ways: tuple[str, ...]) -> None:
    assert choose(config).ways == ways


def test_each_closed_way_has_a_reason() -> None:
    closed = choose({"signal.enabled.channels": "source,kafka,file,acme", "signal.file": "/s"})
    assert str(no_way("shop", closed).message) == (
        "No signal can be sent to the connector shop from here (source: signal.data.collection is not set; kafka: "
        "signal.kafka.bootstrap.servers is not set; file: append the signal to /s on the worker's machine; acme: only the worker knows "
        "this channel). Add http to its signal.enabled.channels: signals by REST need nothing else."
    )
    assert "signal.enabled.channels is empty" in no_way("shop", choose({"signal.enabled.channels": ""})).message


def worker(config: dict[str, str], signals: int) -> tuple[Rest, list[dict[str, Any]]]:
    """A worker whose connector has ``config``; it answers signals with the status ``signals``."""
    sent: list[dict[str, Any]] = []

    def answer(asked: httpx.Request) -> httpx.Response:
        if asked.url.path == "/connectors/shop/config":
            return httpx.Response(200, json=config)
        assert asked.url.path == "/connectors/shop/signals"
        import json  # noqa: PLC0415

        sent.append(json.loads(asked.content))
        return httpx.Response(signals, json={"id": sent[-1]["id"], "error_code": signals, "message": "said"})

    return Rest("http://w", transport=httpx.MockTransport(answer)), sent


def test_rest_comes_first() -> None:
    rest, sent = worker({"signal.enabled.channels": "source,http", **TABLE}, 202)
    found = send(rest, "shop", "log", {"message": "m"}, Access(), "7")
    assert found.as_json() == {"id": "7", "via": "rest", "place": "http://w/connectors/shop/signals"}
    assert sent == [{"id": "7", "type": "log", "data": {"message": "m"}}]


def test_a_task_that_does_not_stream_is_the_workers_answer() -> None:
    rest, _ = worker({"signal.enabled.channels": "http"}, 409)
    with pytest.raises(CommandError, match="answers 409: said"):
        send(rest, "shop", "log", None, Access())


def test_kafka_connect_takes_no_signals_by_rest() -> None:
    rest, _ = worker({"signal.enabled.channels": "jmx"}, 404)
    with pytest.raises(CommandError, match="it is Kafka Connect"):
        send(rest, "shop", "log", None, Access())


def test_references_are_named_if_nothing_resolves_them() -> None:
    config = {"database.password": "${file:/s:p}", "database.user": "u", **TABLE}
    rest, _ = worker(config, 202)
    with pytest.raises(CommandError, match=r"references in database\.password, which only its worker can resolve\. Give --worker FILE"):
        send(rest, "shop", "log", None, Access())


def test_a_workers_file_resolves_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "w.properties"
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    file.write_text(f"config.providers=env\nconfig.providers.env.class={provider}\n")
    monkeypatch.setenv("SIGNALS_AT", "127.0.0.1:1")
    config = {"topic.prefix": "shop", "signal.enabled.channels": "kafka", "signal.kafka.bootstrap.servers": "${env:SIGNALS_AT}"}
    rest, _ = worker(config, 202)
    with pytest.raises(CommandError, match=r"references in signal\.kafka\.bootstrap\.servers"):
        send(rest, "shop", "log", None, Access())
    with pytest.raises(Exception, match=r"The signal topic shop-signal at 127\.0\.0\.1:1 does not take the signal"):
        send(rest, "shop", "log", None, Access(worker=file))


@pytest.mark.parametrize("key", ["topic.prefix", "database.server.name"])
def test_the_prefix_may_be_a_reference_and_have_its_former_name(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "w.properties"
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    file.write_text(f"config.providers=env\nconfig.providers.env.class={provider}\n")
    monkeypatch.setenv("SHOP", "shop")
    rest, _ = worker({key: "${env:SHOP}", "signal.enabled.channels": "kafka", "signal.kafka.bootstrap.servers": "127.0.0.1:1"}, 202)
    with pytest.raises(CommandError, match=rf"has references in {key}, which"):
        send(rest, "shop", "log", None, Access())
    with pytest.raises(Exception, match=r"The signal topic shop-signal at 127\.0\.0\.1:1 does not take the signal"):
        send(rest, "shop", "log", None, Access(worker=file))


@pytest.mark.parametrize(
    "dsn",
    ["postgresql://u:hunter2@x:hunter2@h/shop", "postgresql://u:hunter2/x@h/shop", "host=h password=hunter2 hunter2", "hunter2"],
)
def test_a_malformed_database_is_not_quoted(dsn: str) -> None:
    rest, _ = worker(TABLE, 202)
    with pytest.raises(CommandError, match="--database is no connection") as caught:
        send(rest, "shop", "log", None, Access(database=dsn))
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("via", ["kafka", "source"])
def test_a_way_that_the_connector_does_not_have(via: Any) -> None:
    rest, _ = worker({"signal.enabled.channels": "http", "topic.prefix": "shop"}, 202)
    with pytest.raises(CommandError, match=r"The connector shop has no signal\."):
        send(rest, "shop", "log", None, Access(via=via))


def nested(levels: int) -> str:
    """A JSON object of so many levels."""
    return '{"a":' * levels + "1" + "}" * levels


def test_data_are_an_object() -> None:
    assert read_data(None) is None
    assert read_data('{"a": 1}') == {"a": 1}
    assert read_data('{"a": 18446744073709551616}') == {"a": 2**64}
    for wrong in ("{", "[]", '{"a": 1e999}', '{"a": NaN}', '{"a": "\\ud800"}', '{"a": "\udcff"}', nested(101), nested(5000)):
        with pytest.raises(click.UsageError):
            read_data(wrong)


def test_a_filter_is_a_condition_or_a_whole_select() -> None:
    assert request(["public.t", "public.u.*"], "id > 1", blocking=False) == {
        "type": "incremental",
        "data-collections": ["public.t", "public.u.*"],
        "additional-conditions": [
            {"data-collection": "public.t", "filter": "id > 1"},
            {"data-collection": "public.u.*", "filter": "id > 1"},
        ],
    }
    [condition] = request(['public."T 1"'], "id > 1", blocking=True)["additional-conditions"]
    assert condition["filter"] == 'SELECT * FROM "public"."T 1" WHERE id > 1'
    assert request(["public.t"], None, blocking=True) == {"type": "blocking", "data-collections": ["public.t"]}


@pytest.mark.parametrize("table", ["public.t.*", "t", 'public."t'])
def test_a_pattern_has_no_select(table: str) -> None:
    with pytest.raises(click.UsageError, match="names of tables"):
        request([table], "id > 1", blocking=True)


@pytest.mark.parametrize("offset", ['{"lsn": 1e999}', '{"lsn": "\\ud800"}', nested(5000)])
def test_offsets_that_cannot_be_sent(offset: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(f'{{"offsets": [{{"partition": {{}}, "offset": {offset}}}]}}')
    with pytest.raises(click.UsageError, match="cannot be read as JSON"):
        read_offsets(file)
    file.write_text('{"offsets": [{"partition": {}, "offset": {"lsn": 18446744073709551616}}]}')
    assert read_offsets(file)["offsets"][0]["offset"]["lsn"] == 2**64
