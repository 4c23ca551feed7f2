"""The table of Kafka's client properties, against the lists that Kafka 4.3's own clients define (kafka_client_keys.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from connector.config.kafka_clients import KEYS, Client, render, sort_out
from tests.support.project import DOCS

DEFINED = json.loads(Path(__file__).with_name("kafka_clients.json").read_text(encoding="utf-8"))
PAGE = DOCS / "kafka-clients.md"
FORMER = {"auto.include.jmx.reporter"}
"""Kafka 3 had it."""


@pytest.mark.parametrize("client", get_args(Client))
def test_every_key_of_kafka_has_its_row_and_no_other(client: Client) -> None:
    assert KEYS[client].keys() == set(DEFINED[client]) | FORMER


def test_what_is_not_honoured_has_a_reason() -> None:
    rows = [(client, key, rule) for client, rules in KEYS.items() for key, rule in rules.items()]
    assert [(client, key) for client, key, rule in rows if (rule.fate == "honoured") != (rule.why == "")] == []


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m connector.config.kafka_clients > docs/kafka-clients.md"


def test_sorting() -> None:
    given = {
        "acks": "1",
        "batch.size": "5",
        "interceptor.classes": "a.B",
        "partitioner.class": " ",
        "partitioner.ignore.keys": "False",
        "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
        "lingr.ms": "1",
    }
    found = sort_out("producer", given)
    assert found.refused == {"interceptor.classes": "Java classes cannot be loaded. Remove the property"}
    assert (found.idle, found.unknown) == (("batch.size",), ("lingr.ms",))


@pytest.mark.parametrize(
    ("client", "key", "value"),
    [
        ("producer", "partitioner.class", "org.apache.kafka.clients.producer.RoundRobinPartitioner"),
        ("producer", "partitioner.ignore.keys", "true"),
        ("producer", "value.serializer", "org.apache.kafka.common.serialization.StringSerializer"),
        ("producer", "ssl.engine.factory.class", "a.B"),
        ("consumer", "interceptor.classes", "a.B"),
        ("admin", "bootstrap.controllers", "kafka:9093"),
        ("admin", "sasl.oauthbearer.assertion.private.key.file", "/key.pem"),
    ],
)
def test_settings_with_another_behaviour_are_refused(client: Client, key: str, value: str) -> None:
    assert key in sort_out(client, {key: value}).refused
    assert sort_out(client, {key: ""}).refused == {}
