"""What a connector may say of its Kafka clients, and what a worker's file may."""

from __future__ import annotations

import logging

import pytest

from connector.config.redacted_validation import of_reference
from connector.errors import CdcError
from workers.herder.task_plan import TaskPlanner
from workers.settings.client_overrides import log_ineffective, refusals
from workers.settings.worker_settings import SettingsError, WorkerSettings, worker_properties
from workers.stores.memory import MemoryLog
from workers.stores.offset_store import AllOffsets

URL = "sasl.oauthbearer.token.endpoint.url"
LISTED = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


def planner(**properties: str) -> TaskPlanner:
    settings = WorkerSettings.from_properties({key.replace("_", "."): value for key, value in properties.items()})
    return TaskPlanner(settings, AllOffsets(MemoryLog()), lambda *_: None)


def test_refused_by_name() -> None:
    config = {
        "producer.override.interceptor.classes": "a.B",
        "signal.consumer.interceptor.classes": "a.B",
        "producer.override.linger.ms": "1",
    }
    assert refusals(config, {}) == [
        (key, f"Invalid value a.B for configuration {key}: Java classes cannot be loaded. Remove the property")
        for key in config
        if "interceptor" in key
    ]


@pytest.mark.parametrize(
    ("worker", "allowed"),
    [
        ({}, False),
        ({LISTED: "https://a/token"}, False),
        ({LISTED: "https://a/token, https://login/token"}, True),
        ({URL: "https://login/token"}, True),
        ({f"producer.{URL}": "https://login/token"}, True),
    ],
)
def test_endpoints_that_a_connector_may_name(worker: dict[str, str], allowed: bool) -> None:
    found = refusals({f"producer.override.{URL}": "https://login/token"}, worker)
    assert (found == []) == allowed
    assert allowed or LISTED in found[0][1]


def test_files_that_a_connector_may_name() -> None:
    key = "admin.override.sasl.oauthbearer.assertion.file"
    assert [named for named, _ in refusals({key: "/etc/shadow"}, {})] == [key]


def test_the_list_of_a_jvm_counts() -> None:
    found = worker_properties(None, {"KAFKA_OPTS": f"-Xmx1g -D{LISTED}=https://login/token"})
    assert found[LISTED] == "https://login/token"
    assert WorkerSettings.from_properties(found).unknown == ()


@pytest.mark.parametrize(
    ("config", "key", "reported"),
    [
        ({"producer.override.acks": "2"}, "producer.override.acks", "acks"),
        ({"producer.override.bootstrap.servers": "kafka:abc"}, "producer.override.bootstrap.servers", "kafka:abc"),
        ({"producer.override.compression.type": "brotli"}, "producer.override.compression.type", "brotli"),
        ({"admin.override.security.protocol": "TLS"}, "admin.override.security.protocol", "TLS"),
        ({"producer.override.sasl.mechanism": "GSSAPI", "producer.override.security.protocol": "SASL_SSL"}, "sasl.mechanism", "Kerberos"),
        ({"producer.override.security.protocol": "SASL_SSL"}, "producer.override.security.protocol", "sasl.mechanism"),
    ],
)
def test_contradictory_settings_are_reported_when_they_are_saved(config: dict[str, str], key: str, reported: str) -> None:
    assert planner().refusals(config) == []
    [(named, line)] = planner().shortcomings(config)
    assert named.endswith(key)
    assert reported in line


async def test_the_value_of_a_reference_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planner(config_providers="env", config_providers_env_class="org.apache.kafka.common.config.provider.EnvVarConfigProvider")
    monkeypatch.setenv("NAMES", "hidden.Name")
    with pytest.raises(CdcError) as caught:
        await plan.context("shop", {"producer.override.interceptor.classes": "${env:NAMES}"})
    assert caught.value.message == of_reference("producer.override.interceptor.classes")
    monkeypatch.setenv("NAMES", "")
    assert (await plan.context("shop", {"producer.override.interceptor.classes": "${env:NAMES}"})).config


def test_what_the_worker_has_no_provider_for_is_a_value_like_any_other() -> None:
    [(key, line)] = planner().shortcomings({"producer.override.acks": "${trace_id:}"})
    assert key == "producer.override.acks"
    assert "${trace_id:}" in line


def test_the_log_names_what_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_ineffective({"producer.override.batch.size": "1", "admin.override.batch.size": "1", "producer.override.acks": "all"})
    assert [(record.levelname, record.__dict__["fields"]) for record in caplog.records] == [
        ("INFO", {"names": "producer.override.batch.size"}),
        ("WARNING", {"names": "admin.override.batch.size"}),
    ]


@pytest.mark.parametrize("key", ["producer.interceptor.classes", "ssl.engine.factory.class", "admin.bootstrap.controllers"])
def test_a_worker_does_not_start_with_what_it_cannot_honour(key: str) -> None:
    with pytest.raises(SettingsError, match=key):
        WorkerSettings.from_properties({key: "x"})


def test_a_worker_names_what_has_no_effect() -> None:
    given = {"producer.batch.size": "1", "consumer.max.poll.records": "1", "sasl.kerberos.kinit.cmd": "x", "producer.lingr.ms": "1"}
    settings = WorkerSettings.from_properties(given)
    assert settings.ignored == ("producer.batch.size", "consumer.max.poll.records", "sasl.kerberos.kinit.cmd")
    assert settings.unknown == ("producer.lingr.ms",)
