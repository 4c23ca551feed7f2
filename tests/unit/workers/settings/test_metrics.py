from __future__ import annotations

import pytest

from workers.rest.listeners import Listener
from workers.settings.metrics import MetricsAgent, MetricsSettings, from_java_options
from workers.settings.worker_settings import SettingsError, WorkerSettings, worker_properties


def test_defaults() -> None:
    assert WorkerSettings.from_properties({}).metrics == MetricsSettings("debezium", None, jolokia=False)


def test_named() -> None:
    given = {"metrics.rules": "/etc/rules.yml", "jolokia.enabled": "true", "metrics.per.table": "false"}
    found = WorkerSettings.from_properties(given).metrics
    assert found == MetricsSettings("/etc/rules.yml", None, jolokia=True, per_table=False)


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("9404:/etc/rules.yml", MetricsAgent(Listener("", 9404), "/etc/rules.yml")),
        ("127.0.0.1:9404:rules.yml", MetricsAgent(Listener("127.0.0.1", 9404), "rules.yml")),
        ("0.0.0.0:9404:/a:b.yml", MetricsAgent(Listener("", 9404), "/a:b.yml")),
        ("[::1]:9404:/a.yml", MetricsAgent(Listener("::1", 9404), "/a.yml")),
        ("my-host.local:1:/a.yml", MetricsAgent(Listener("my-host.local", 1), "/a.yml")),
    ],
)
def test_the_port_and_the_rules_of_an_agent(text: str, agent: MetricsAgent) -> None:
    assert WorkerSettings.from_properties({"metrics.agent": text}).metrics.agent == agent


@pytest.mark.parametrize("text", ["9404", "/etc/rules.yml", "99999:/a.yml", "host:/a.yml"])
def test_what_is_no_agent_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"metrics\.agent"):
        WorkerSettings.from_properties({"metrics.agent": text})


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ("-Xmx1g -javaagent:/opt/jmx_prometheus_javaagent-1.0.1.jar=9404:/etc/rules.yml", "9404:/etc/rules.yml"),
        ("-javaagent:jmx_prometheus_javaagent.jar=h:1:/a.yml -Da=b", "h:1:/a.yml"),
        ("'-javaagent:/my libs/jmx_prometheus_javaagent.jar=1:/my rules.yml'", "1:/my rules.yml"),
        ("-javaagent:/opt/jolokia-agent-jvm.jar=port=8778", None),
        ("-javaagent:/opt/jmx_prometheus_javaagent.jar", None),
        ("", None),
    ],
)
def test_an_agent_in_java_s_options(options: str, argument: str | None) -> None:
    assert from_java_options(options) == argument
    assert worker_properties(None, {"KAFKA_OPTS": options}).get("metrics.agent") == argument
