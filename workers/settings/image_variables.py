"""The variables of the usual Connect images, Confluent's and Debezium's, and the worker properties that they set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from workers.settings.metrics import AGENT, JOLOKIA
from workers.settings.metrics import from_java_options as metrics_agent

_SHORT: Final = {
    "BOOTSTRAP_SERVERS": "bootstrap.servers",
    "GROUP_ID": "group.id",
    "CONFIG_STORAGE_TOPIC": "config.storage.topic",
    "OFFSET_STORAGE_TOPIC": "offset.storage.topic",
    "STATUS_STORAGE_TOPIC": "status.storage.topic",
    "KEY_CONVERTER": "key.converter",
    "VALUE_CONVERTER": "value.converter",
    "OFFSET_FLUSH_INTERVAL_MS": "offset.flush.interval.ms",
    "OFFSET_FLUSH_TIMEOUT_MS": "offset.flush.timeout.ms",
    "SHUTDOWN_TIMEOUT": "task.shutdown.graceful.timeout.ms",
}
"""Variables that Debezium's Connect image takes without the prefix ``CONNECT_``."""
_REQUIRED: Final = ("CONFIG_STORAGE_TOPIC", "OFFSET_STORAGE_TOPIC")
"""Debezium's image does not start without these two."""
_DEFAULTS: Final = {
    "group.id": "1",
    "status.storage.topic": "connect-status",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "task.shutdown.graceful.timeout.ms": "10000",
    "config.storage.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
}
"""That image's defaults which are not Connect's."""
_APICURIO: Final = {
    f"{side}.converter{key}": value
    for side in ("key", "value")
    for key, value in (
        ("", "io.apicurio.registry.utils.converter.AvroConverter"),
        # The image writes auto.register and find.latest, because its variables cannot hold a hyphen. The converter has no such options,
        # and without the right ones it would find no schema in a new registry.
        (".apicurio.registry.auto-register", "true"),
        (".apicurio.registry.find-latest", "true"),
    )
}
"""What ``APICURIO_REGISTRY`` sets beside the address, also if ``KEY_CONVERTER`` and ``VALUE_CONVERTER`` are set."""
_EXPORTER_PORT: Final = 9404
_OTHERWISE: Final = {
    "ENABLE_JOLOKIA": "/jolokia is at the addresses of the REST interface, with its login; nothing listens on port 8778",
    "JMXPORT": "there is no JMX; /metrics and /jolokia show the MBeans",
}


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The worker properties in ``environment``. A ``CONNECT_`` variable wins over a short one.

    ``CONNECT_A_B`` is ``a.b`` (with ``__`` for ``_`` and ``___`` for ``-``, as in Confluent's image). Debezium's image also has
    short names (``BOOTSTRAP_SERVERS`` and others), ``HOST_NAME``, ``ADVERTISED_HOST_NAME``, ``ADVERTISED_PORT``, ``APICURIO_REGISTRY``,
    ``ENABLE_JOLOKIA`` and ``ENABLE_JMX_EXPORTER``. With the short names that it requires, its defaults apply: the group ``1``, a topic for
    statuses, JSON converters, one replica of the internal topics, and 10 seconds for tasks to end. ``REST_HOST_NAME`` and ``REST_PORT`` set
    nothing: there they set properties that Kafka Connect has not read since 3.0.
    """
    properties = dict(_DEFAULTS) if all(environment.get(variable) for variable in _REQUIRED) else {}
    properties |= {key: environment[variable] for variable, key in _SHORT.items() if environment.get(variable)}
    if registry := environment.get("APICURIO_REGISTRY"):
        properties |= _APICURIO | {f"{side}.converter.apicurio.registry.url": registry for side in ("key", "value")}
    if advertised := environment.get("ADVERTISED_HOST_NAME") or environment.get("HOST_NAME"):
        properties["rest.advertised.host.name"] = advertised
    if advertised_port := environment.get("ADVERTISED_PORT"):
        properties["rest.advertised.port"] = advertised_port
    if environment.get("ENABLE_JOLOKIA") == "true":
        properties[JOLOKIA] = "true"
    if environment.get("ENABLE_JMX_EXPORTER") == "true" and metrics_agent(environment.get("KAFKA_OPTS", "")) is None:
        properties[AGENT] = f"{_EXPORTER_PORT}:{_exporter_rules(environment)}"
    for variable, value in environment.items():
        if variable.startswith("CONNECT_"):
            words = variable.removeprefix("CONNECT_").lower()
            properties[words.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")] = value
    return properties


def honoured_otherwise(environment: Mapping[str, str]) -> list[str]:
    """Return a line for each variable of Debezium's image that does not do here what it does there."""
    return [f"{variable}: {effect}" for variable, effect in _OTHERWISE.items() if environment.get(variable, "false") not in ("", "false")]


def _exporter_rules(environment: Mapping[str, str]) -> str:
    file = Path(environment.get("KAFKA_HOME") or "/kafka", "config", "metrics.yaml")
    return str(file) if file.exists() else "debezium"
