"""The properties of a Kafka Connect worker (Kafka documentation, "Kafka Connect Configs") and the treatment of each here.

A property is honoured; or ignored, because it has a meaning only in a JVM or in Connect's own group protocol (the log names it once); or
refused, because the worker would behave otherwise than it says. A property in none of the tables is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from connector.config import kafka_clients as kafka_keys
from workers.rest import tls

HONOURED: Final = frozenset(
    {
        "access.control.allow.methods",
        "access.control.allow.origin",
        "admin.listeners",
        "bootstrap.servers",
        "client.id",
        "config.providers",
        "config.storage.replication.factor",
        "config.storage.topic",
        "connector.client.config.override.allowlist",
        "connector.client.config.override.policy",
        "connector.plugin.version",
        "console.enabled",
        "console.events",
        "console.hidden.columns",
        "console.read.only",
        "exactly.once.source.support",
        "group.id",
        "header.converter",
        "heartbeat.interval.ms",
        "java.security.auth.login.config",
        "jolokia.enabled",
        "key.converter",
        "listeners",
        "log.format",
        "metadata.max.age.ms",
        "connections.max.idle.ms",
        "metrics.agent",
        "metrics.per.table",
        "metrics.rules",
        "offset.flush.interval.ms",
        "offset.storage.partitions",
        "offset.storage.replication.factor",
        "offset.storage.topic",
        "preflight",
        "plugin.packages",
        "rebalance.timeout.ms",
        "request.timeout.ms",
        "response.http.headers.config",
        "rest.advertised.host.name",
        "rest.advertised.listener",
        "rest.advertised.port",
        "rest.allowed.hosts",
        "rest.extension.classes",
        "rest.host.name",
        "rest.max.connections",
        "rest.port",
        "retry.backoff.ms",
        "sasl.jaas.config",
        "sasl.mechanism",
        "security.protocol",
        "session.timeout.ms",
        "signal.file.directory",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "status.storage.partitions",
        "status.storage.replication.factor",
        "status.storage.topic",
        "task.shutdown.graceful.timeout.ms",
        "topic.creation.enable",
        "topic.tracking.allow.reset",
        "topic.tracking.enable",
        "understudy.spark.master",
        "value.converter",
    }
)
HONOURED_PREFIXES: Final = (
    "class.map.",
    "config.providers.",
    "config.storage.",
    "header.converter.",
    "key.converter.",
    "offset.storage.",
    "org.apache.kafka.sasl.oauthbearer.allowed.",
    "status.storage.",
    "understudy.spark.conf.",
    "value.converter.",
)

IGNORED: Final = frozenset(
    {
        "auto.include.jmx.reporter",
        "classpath",
        "client.dns.lookup",
        "connect.protocol",
        "internal.key.converter",
        "internal.value.converter",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "offset.flush.timeout.ms",
        "plugin.discovery",
        "plugin.path",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.max.ms",
        "scheduled.rebalance.max.delay.ms",
        "security.providers",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.cipher.suites",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "worker.sync.timeout.ms",
        "worker.unsync.backoff.ms",
    }
)
IGNORED_PREFIXES: Final = (
    # Source connectors have no consumer.
    "consumer.",
    "cub.",
    "inter.worker.",
    "internal.key.converter.",
    "internal.value.converter.",
    "log4j.",
    "metrics.context.",
    "tools.log4j.",
)


def _set(value: str) -> bool:
    return bool(value.strip())


REFUSED: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "offset.storage.file.filename": (
        _set,
        "This file is a standalone worker's. Use a distributed worker's (connect-distributed.properties), with group.id and topics.",
    ),
}
"""Key → (whether its value must be refused, the reason and the remedy)."""
CLIENT_PREFIXES: Final[Mapping[str, kafka_keys.Client]] = {"producer.": "producer", "admin.": "admin", "": "admin"}
"""Prefix → kind of Kafka client. The empty prefix is for the worker's own clients. See :mod:`connector.config.kafka_clients`."""
LISTENER_PREFIXES: Final = ("listeners.https.", "admin.listeners.https.")
"""Prefixes of the settings of https listeners. :mod:`workers.rest.tls` has their treatment."""


def sort_out(properties: Mapping[str, str]) -> tuple[list[str], list[str], list[str]]:
    """The problems (one sentence each, which names the key), the ignored keys and the unknown keys of a worker's properties."""
    problems: list[str] = []
    ignored: list[str] = []
    unknown: list[str] = []
    for key, value in properties.items():
        refusal = REFUSED.get(key)
        if refusal is not None:
            if refusal[0](value):
                problems.append(f"The worker property {key} is not supported: {refusal[1]}")
            continue
        prefix = next((p for p in LISTENER_PREFIXES if key.startswith(p)), None)
        if prefix is not None:
            setting = key.removeprefix(prefix)
            if setting in tls.REFUSED and value.strip():
                problems.append(f"The worker property {key} is not supported: {tls.REFUSED[setting]}")
            elif setting not in tls.HONOURED:
                (ignored if setting in tls.IGNORED or setting in tls.REFUSED else unknown).append(key)
        elif key in HONOURED or key.startswith(HONOURED_PREFIXES):
            continue
        elif key in IGNORED or key.startswith(IGNORED_PREFIXES):
            ignored.append(key)
        else:
            prefix = next(p for p in CLIENT_PREFIXES if key.startswith(p))
            found = kafka_keys.sort_out(CLIENT_PREFIXES[prefix], {key.removeprefix(prefix): value})
            problems += [f"The worker property {key} is not supported: {why}." for why in found.refused.values()]
            ignored += [key for _ in found.idle]
            unknown += [key for _ in found.unknown]
    return problems, ignored, unknown
