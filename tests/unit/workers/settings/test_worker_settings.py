from __future__ import annotations

from pathlib import Path

import pytest

from connector.converters.catalog import make_converter
from connector.emulation import DEFAULT
from connector.plugins.allowed import AllowedPlugins
from connector.record.json_converter import ConverterSettings
from tests.support.each_case import each_case
from workers.rest.listeners import Listener
from workers.settings.converters import json_settings
from workers.settings.image_variables import from_environment, honoured_otherwise
from workers.settings.metrics import MetricsAgent
from workers.settings.required import require_all
from workers.settings.worker_settings import SettingsError, StoreTopic, WorkerSettings, log_format, worker_properties

DISTRIBUTED = """
# As it comes with Kafka, shortened.
bootstrap.servers=kafka-1:9092,\\
                  kafka-2:9092
group.id=connect-cluster
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=true
value.converter.schemas.enable=false
offset.storage.topic=my-offsets
offset.storage.replication.factor=1
offset.storage.partitions=5
offset.storage.min.insync.replicas=1
config.storage.topic=my-configs
config.storage.replication.factor=-1
status.storage.topic=my-status
status.storage.replication.factor=1
offset.flush.interval.ms=10000
listeners=http://127.0.0.1:18083
plugin.path=/usr/share/java
session.timeout.ms=30000
producer.compression.type=lz4
my.own.key=1
"""


def test_distributed_file(tmp_path: Path) -> None:
    file = tmp_path / "connect-distributed.properties"
    file.write_text(DISTRIBUTED)
    settings = WorkerSettings.from_properties(worker_properties(file, {"CONNECT_GROUP_ID": "of no effect"}))
    assert settings.bootstrap_servers == "kafka-1:9092,kafka-2:9092"
    assert settings.group_id == "connect-cluster"
    assert settings.config_topic == StoreTopic("my-configs", 1, -1)
    assert settings.offset_topic == StoreTopic("my-offsets", 5, 1, {"min.insync.replicas": "1"})
    assert settings.status_topic == StoreTopic("my-status", 5, 1)
    assert json_settings(settings.converters.key, "key.converter") == ConverterSettings()
    assert json_settings(settings.converters.value, "value.converter") == ConverterSettings(schemas_enable=False)
    assert settings.http.listeners == (Listener("127.0.0.1", 18083),)
    assert settings.worker_id == "127.0.0.1:18083"
    assert settings.offset_flush_interval == 10
    assert (settings.session_timeout_ms, settings.heartbeat_interval_ms, settings.rebalance_timeout_ms) == (30_000, 1_000, 60_000)
    assert settings.ignored == ("plugin.path",)
    assert settings.unknown == ("my.own.key",)


def test_values_are_trimmed_as_java_trims_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUP", "shop\u00a0\n")
    given = {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "group.id": "${env:GROUP}",
        "ssl.key.password": " secret\t",
        "value.converter.basic.auth.user.info": "user:pass ",
    }
    settings = WorkerSettings.from_properties(given)
    assert settings.group_id == "shop\u00a0"
    assert settings.properties["ssl.key.password"] == "secret"
    assert settings.properties["value.converter.basic.auth.user.info"] == "user:pass "


@pytest.mark.parametrize(("encoding", "line"), [("utf-8", "group.id=café €"), ("iso-8859-1", "group.id=café")])
def test_the_encoding_of_a_file(tmp_path: Path, encoding: str, line: str) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(line, encoding=encoding)
    assert worker_properties(file, {}) == {"group.id": line.removeprefix("group.id=")}


def test_settings_of_header_converters_and_python_classes_are_honoured() -> None:
    settings = WorkerSettings.from_properties(
        {
            "header.converter": "org.apache.kafka.connect.json.JsonConverter",
            "header.converter.schemas.enable": "false",
            "class.map.com.example.Masking": "masking:Masking",
        }
    )
    assert (settings.ignored, settings.unknown) == ((), ())
    assert settings.converters.header.options == {"schemas.enable": "false"}


def test_defaults_are_connects() -> None:
    settings = WorkerSettings.from_properties({})
    assert settings.bootstrap_servers == "localhost:9092"
    assert settings.group_id == ""
    assert settings.config_topic == StoreTopic("", 1, 3)
    assert settings.offset_topic == StoreTopic("", 25, 3)
    assert settings.status_topic == StoreTopic("", 5, 3)
    assert settings.http.listeners == (Listener("", 8083),)
    assert settings.offset_flush_interval == 60
    assert settings.graceful_shutdown == 5
    assert (settings.topic_creation, settings.topic_tracking, settings.topic_tracking_reset) == (True, True, True)
    assert settings.override_policy == "All"


def test_log_format_is_text_unless_json_is_asked_for() -> None:
    assert log_format({}) == "text"
    assert log_format({"log.format": " JSON "}) == "json"
    assert log_format(worker_properties(None, {"CONNECT_LOG_FORMAT": "json"})) == "json"
    assert WorkerSettings.from_properties({"log.format": "json"}).unknown == ()


def test_an_unknown_log_format_is_one_clear_error() -> None:
    with pytest.raises(SettingsError) as refused:
        log_format({"log.format": "xml"})
    assert str(refused.value) == "Invalid value xml for the worker property log.format: It must be text or json"


def test_environment_of_debeziums_image() -> None:
    properties = from_environment(
        {
            "BOOTSTRAP_SERVERS": "kafka:9092",
            "GROUP_ID": "1",
            "CONFIG_STORAGE_TOPIC": "my_connect_configs",
            "OFFSET_STORAGE_TOPIC": "my_connect_offsets",
            "STATUS_STORAGE_TOPIC": "my_connect_statuses",
            "OFFSET_FLUSH_INTERVAL_MS": "5000",
            "KEY_CONVERTER": "org.apache.kafka.connect.json.JsonConverter",
            "CONNECT_KEY_CONVERTER_SCHEMAS_ENABLE": "false",
            "HOST_NAME": "10.0.0.7",
            "ADVERTISED_HOST_NAME": "connect",
            "REST_HOST_NAME": "0.0.0.0",
            "REST_PORT": "8085",
            "SHUTDOWN_TIMEOUT": "60000",
            "PATH": "/usr/bin",
        }
    )
    assert properties == {
        "bootstrap.servers": "kafka:9092",
        "group.id": "1",
        "config.storage.topic": "my_connect_configs",
        "offset.storage.topic": "my_connect_offsets",
        "status.storage.topic": "my_connect_statuses",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "offset.flush.interval.ms": "5000",
        "task.shutdown.graceful.timeout.ms": "60000",
        "config.storage.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        "rest.advertised.host.name": "connect",
        "key.converter.schemas.enable": "false",
    }
    settings = WorkerSettings.from_properties(properties)
    assert settings.http.listeners == (Listener("", 8083),)
    assert settings.worker_id == "connect:8083"
    assert json_settings(settings.converters.key, "key.converter") == ConverterSettings(schemas_enable=False)


TOPICS = {"CONFIG_STORAGE_TOPIC": "c", "OFFSET_STORAGE_TOPIC": "o"}


def test_defaults_of_debeziums_image() -> None:
    settings = WorkerSettings.from_properties(from_environment({**TOPICS, "CONNECT_OFFSET_STORAGE_REPLICATION_FACTOR": "3"}))
    topics = (settings.config_topic, settings.offset_topic, settings.status_topic)
    assert [topic.replication_factor for topic in topics] == [1, 3, 1]
    assert settings.graceful_shutdown == 10
    assert (settings.group_id, settings.status_topic.name) == ("1", "connect-status")
    assert require_all(settings, None) is settings
    assert WorkerSettings.from_properties(from_environment({"CONNECT_CONFIG_STORAGE_TOPIC": "c"})).config_topic.replication_factor == 3


def test_advertised_address_of_debeziums_image() -> None:
    assert from_environment({"HOST_NAME": "10.0.0.7", "ADVERTISED_PORT": "9083"}) == {
        "rest.advertised.host.name": "10.0.0.7",
        "rest.advertised.port": "9083",
    }
    assert from_environment({"HOST_NAME": "10.0.0.7", "ADVERTISED_HOST_NAME": ""}) == {"rest.advertised.host.name": "10.0.0.7"}


def test_registry_of_debeziums_image() -> None:
    given = {**TOPICS, "APICURIO_REGISTRY": "http://registry:8080", "VALUE_CONVERTER": "org.apache.kafka.connect.json.JsonConverter"}
    settings = WorkerSettings.from_properties(from_environment(given))
    for choice in (settings.converters.key, settings.converters.value):
        assert choice.name == "io.apicurio.registry.utils.converter.AvroConverter"
        assert choice.options == {
            "apicurio.registry.url": "http://registry:8080",
            "apicurio.registry.auto-register": "true",
            "apicurio.registry.find-latest": "true",
        }
        # It would raise an error for options that the converter cannot use.
        make_converter(choice, "value", DEFAULT, AllowedPlugins())
    assert settings.converters.unused() == ()
    own = from_environment({**given, "CONNECT_VALUE_CONVERTER_APICURIO_REGISTRY_URL": "http://own:8080"})
    assert own["value.converter.apicurio.registry.url"] == "http://own:8080"


def test_agents_of_debeziums_image(tmp_path: Path) -> None:
    given = {**TOPICS, "ENABLE_JOLOKIA": "true", "ENABLE_JMX_EXPORTER": "true", "KAFKA_HOME": str(tmp_path)}
    metrics = WorkerSettings.from_properties(worker_properties(None, given)).metrics
    assert metrics.jolokia
    assert metrics.agent == MetricsAgent(Listener("", 9404), "debezium")
    (tmp_path / "config").mkdir()
    rules = tmp_path / "config" / "metrics.yaml"
    rules.touch()
    assert worker_properties(None, given)["metrics.agent"] == f"9404:{rules}"
    options = {"KAFKA_OPTS": "-javaagent:jmx_prometheus_javaagent.jar=1:/own.yml"}
    assert worker_properties(None, {**given, **options})["metrics.agent"] == "1:/own.yml"
    assert worker_properties(None, {**given, "CONNECT_JOLOKIA_ENABLED": "false"})["jolokia.enabled"] == "false"
    disabled = {"ENABLE_JOLOKIA": "false", "ENABLE_JMX_EXPORTER": "false"}
    assert worker_properties(None, disabled) == {}


def test_variables_with_another_effect_are_named() -> None:
    assert honoured_otherwise({"ENABLE_JOLOKIA": "false", "JMXPORT": "", "SHUTDOWN_TIMEOUT": "1"}) == []
    given = {"ENABLE_JOLOKIA": "true", "JMXPORT": "9012"}
    assert [line.partition(":")[0] for line in honoured_otherwise(given)] == list(given)


def test_environment_of_confluents_image() -> None:
    properties = from_environment(
        {
            "CONNECT_BOOTSTRAP_SERVERS": "broker:29092",
            "BOOTSTRAP_SERVERS": "loses:1",
            "CONNECT_REST_ADVERTISED_HOST_NAME": "connect",
            "CONNECT_CONFIG_STORAGE_REPLICATION_FACTOR": "1",
            "CONNECT_PRODUCER_A__B___C": "x",
            "CONNECT_LOG4J_ROOT_LOGLEVEL": "WARN",
        }
    )
    assert properties["bootstrap.servers"] == "broker:29092"
    assert properties["rest.advertised.host.name"] == "connect"
    assert properties["config.storage.replication.factor"] == "1"
    assert properties["producer.a_b-c"] == "x"
    settings = WorkerSettings.from_properties(properties)
    assert settings.worker_id == "connect:8083"
    assert settings.unknown == ("producer.a_b-c",)


def test_no_variables_mean_the_defaults() -> None:
    assert worker_properties(None, {"HOME": "/root"}) == {}


@each_case(
    ("key", "value"),
    [
        ("listeners", "ftp://0.0.0.0:8443"),
        ("listeners", "http://0.0.0.0"),
        ("listeners", "8083"),
        ("listeners", "http://a:b"),
        ("admin.listeners", "127.0.0.1:9090"),
        ("rest.extension.classes", "org.example.Extension"),
        ("exactly.once.source.support", "yes"),
        ("key.converter", "com.example.AvroConverter"),
        ("value.converter", "com.example.MyConverter"),
        ("header.converter", "com.example.MyConverter"),
        ("class.map.com.example.MyConverter", "MyConverter"),
        ("value.converter.decimal.format", "HEX"),
        ("value.converter.schemas.enable", "yes"),
        ("offset.storage.file.filename", "/tmp/connect.offsets"),
        ("offset.flush.interval.ms", "soon"),
        ("offset.flush.interval.ms", "0"),
        ("status.storage.partitions", "-2"),
        ("connector.client.config.override.policy", "com.example.Mine"),
        ("listeners.https.ssl.cipher.suites", "TLS_AES_128_GCM_SHA256"),
        ("access.control.allow.origin", "("),
        ("response.http.headers.config", "set X"),
        ("rest.advertised.listener", "ftp"),
    ],
)
def test_unsupported_properties_are_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        WorkerSettings.from_properties({key: value})
    assert key in str(caught.value)


def test_unknown_config_provider_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"config\.providers\.vault\.class"):
        WorkerSettings.from_properties({"config.providers": "vault", "config.providers.vault.class": "com.example.Vault"})


def test_all_refused_keys_are_reported_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        WorkerSettings.from_properties({"listeners.https.ssl.cipher.suites": "x", "offset.storage.file.filename": "x"})
    assert str(caught.value).count("\n") == 1


@pytest.mark.parametrize(
    ("value", "enabled"),
    [("", False), ("disabled", False), ("DISABLED", False), ("preparing", False), ("enabled", True), (" Enabled ", True)],
)
def test_exactly_once_is_switched_on_by_one_word(value: str, enabled: bool) -> None:
    assert WorkerSettings.from_properties({"exactly.once.source.support": value}).exactly_once is enabled


def test_a_refused_key_with_a_harmless_value_passes() -> None:
    WorkerSettings.from_properties({"offset.storage.file.filename": "", "rest.extension.classes": ""})


def test_several_listeners() -> None:
    settings = WorkerSettings.from_properties({"listeners": "http://0.0.0.0:8083, HTTP://[::1]:8084"})
    assert settings.http.listeners == (Listener("", 8083), Listener("::1", 8084))


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"worker\.properties: No such file"):
        worker_properties(tmp_path / "worker.properties", {})


def test_the_worker_s_properties_may_be_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_TEST_GROUP", "from-env")
    settings = WorkerSettings.from_properties(
        {
            "config.providers": "env",
            "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
            "group.id": "${env:UNDERSTUDY_TEST_GROUP}",
        }
    )
    assert settings.group_id == "from-env"


@pytest.mark.parametrize("partitions", ["3", "-1", "many"])
def test_the_topic_of_configurations_has_one_partition_whatever_the_file_says(partitions: str) -> None:
    assert WorkerSettings.from_properties({"config.storage.partitions": partitions}).config_topic.partitions == 1


@pytest.mark.parametrize(
    ("pattern", "hidden"), [({}, True), ({"console.hidden.columns": ""}, False), ({"console.hidden.columns": "API"}, True)]
)
def test_an_empty_pattern_hides_no_column(pattern: dict[str, str], hidden: bool) -> None:
    console = WorkerSettings.from_properties(pattern).console
    assert (console.hidden.search("api_key") is not None) is hidden
    assert console.hidden.search("") is None


def test_passwords_do_not_show_in_repr() -> None:
    assert "hunter2" not in repr(WorkerSettings.from_properties({"sasl.jaas.config": 'x required username="u" password="hunter2";'}))


@pytest.mark.parametrize(
    ("word", "policy"),
    [
        ("All", "All"),
        ("Principal", "Principal"),
        ("Allowlist", "Allowlist"),
        ("org.apache.kafka.connect.connector.policy.AllowlistConnectorClientConfigOverridePolicy", "Allowlist"),
        ("org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy", "None"),
    ],
)
def test_override_policy(word: str, policy: str) -> None:
    assert WorkerSettings.from_properties({"connector.client.config.override.policy": word}).override_policy == policy


def test_override_allowlist() -> None:
    settings = WorkerSettings.from_properties({"connector.client.config.override.allowlist": "linger.ms, acks ,"})
    assert settings.override_allowlist == {"linger.ms", "acks"}
    assert settings.unknown == ()
    assert WorkerSettings.from_properties({}).override_allowlist == frozenset()


@pytest.mark.parametrize(("session", "expected"), [("6000", 1_000), ("900", 300), ("2", 1)])
def test_a_short_session_has_short_heartbeats(session: str, expected: int) -> None:
    assert WorkerSettings.from_properties({"session.timeout.ms": session}).heartbeat_interval_ms == expected


def test_heartbeats_rarer_than_the_session_is_long() -> None:
    with pytest.raises(SettingsError, match=r"heartbeat.interval.ms: It must be less than session.timeout.ms \(6000\)"):
        WorkerSettings.from_properties({"session.timeout.ms": "6000", "heartbeat.interval.ms": "6000"})
