"""Settings of Kafka's clients that a connector overrides (KIP-458), as Connect 4.3 tells of those that a configuration sets.

A row of the tables below is name, type, importance and, where there is one, the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from connector.config_keys.key import Importance, Key, Type
from connector.java_map import java_order

_REQUIRED: Final = frozenset({"bootstrap.servers", "key.serializer", "value.serializer"})

_BOTH: Final = """
client.dns.lookup STRING MEDIUM use_all_dns_ips
client.id STRING MEDIUM ''
config.providers LIST LOW ''
metadata.max.age.ms LONG LOW 300000
metadata.recovery.rebootstrap.trigger.ms LONG LOW 300000
metadata.recovery.strategy STRING LOW rebootstrap
metric.reporters LIST LOW org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples INT LOW 2
metrics.recording.level STRING LOW INFO
metrics.sample.window.ms LONG LOW 30000
reconnect.backoff.max.ms LONG LOW 1000
reconnect.backoff.ms LONG LOW 50
request.timeout.ms INT MEDIUM 30000
retry.backoff.max.ms LONG LOW 1000
retry.backoff.ms LONG LOW 100
sasl.client.callback.handler.class CLASS MEDIUM
sasl.jaas.config PASSWORD MEDIUM
sasl.kerberos.kinit.cmd STRING LOW /usr/bin/kinit
sasl.kerberos.min.time.before.relogin LONG LOW 60000
sasl.kerberos.service.name STRING MEDIUM
sasl.kerberos.ticket.renew.jitter DOUBLE LOW 0.05
sasl.kerberos.ticket.renew.window.factor DOUBLE LOW 0.8
sasl.login.callback.handler.class CLASS MEDIUM
sasl.login.class CLASS MEDIUM
sasl.login.connect.timeout.ms INT LOW
sasl.login.read.timeout.ms INT LOW
sasl.login.refresh.buffer.seconds SHORT LOW 300
sasl.login.refresh.min.period.seconds SHORT LOW 60
sasl.login.refresh.window.factor DOUBLE LOW 0.8
sasl.login.refresh.window.jitter DOUBLE LOW 0.05
sasl.login.retry.backoff.max.ms LONG LOW 10000
sasl.login.retry.backoff.ms LONG LOW 100
sasl.mechanism STRING MEDIUM GSSAPI
sasl.oauthbearer.assertion.algorithm STRING MEDIUM RS256
sasl.oauthbearer.assertion.claim.aud STRING MEDIUM
sasl.oauthbearer.assertion.claim.exp.seconds INT LOW 300
sasl.oauthbearer.assertion.claim.iss STRING MEDIUM
sasl.oauthbearer.assertion.claim.jti.include BOOLEAN MEDIUM false
sasl.oauthbearer.assertion.claim.nbf.seconds INT LOW 60
sasl.oauthbearer.assertion.claim.sub STRING MEDIUM
sasl.oauthbearer.assertion.file STRING MEDIUM
sasl.oauthbearer.assertion.private.key.file STRING MEDIUM
sasl.oauthbearer.assertion.private.key.passphrase PASSWORD MEDIUM
sasl.oauthbearer.assertion.template.file STRING MEDIUM
sasl.oauthbearer.client.credentials.client.id STRING MEDIUM
sasl.oauthbearer.client.credentials.client.secret PASSWORD MEDIUM
sasl.oauthbearer.clock.skew.seconds INT LOW 30
sasl.oauthbearer.expected.audience LIST LOW ''
sasl.oauthbearer.expected.issuer STRING LOW
sasl.oauthbearer.header.urlencode BOOLEAN LOW false
sasl.oauthbearer.jwks.endpoint.refresh.ms LONG LOW 3600000
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms LONG LOW 10000
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms LONG LOW 100
sasl.oauthbearer.jwks.endpoint.url STRING MEDIUM
sasl.oauthbearer.jwt.retriever.class CLASS MEDIUM org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
sasl.oauthbearer.jwt.validator.class CLASS MEDIUM org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
sasl.oauthbearer.scope STRING MEDIUM
sasl.oauthbearer.scope.claim.name STRING LOW scope
sasl.oauthbearer.sub.claim.name STRING LOW sub
sasl.oauthbearer.token.endpoint.url STRING MEDIUM
security.protocol STRING MEDIUM PLAINTEXT
security.providers STRING LOW
send.buffer.bytes INT MEDIUM 131072
socket.connection.setup.timeout.max.ms LONG MEDIUM 30000
socket.connection.setup.timeout.ms LONG MEDIUM 10000
ssl.cipher.suites LIST LOW ''
ssl.enabled.protocols LIST MEDIUM TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm STRING LOW https
ssl.engine.factory.class CLASS LOW
ssl.key.password PASSWORD HIGH
ssl.keymanager.algorithm STRING LOW SunX509
ssl.keystore.certificate.chain PASSWORD HIGH
ssl.keystore.key PASSWORD HIGH
ssl.keystore.location STRING HIGH
ssl.keystore.password PASSWORD HIGH
ssl.keystore.type STRING MEDIUM JKS
ssl.protocol STRING MEDIUM TLSv1.3
ssl.provider STRING MEDIUM
ssl.secure.random.implementation STRING LOW
ssl.trustmanager.algorithm STRING LOW PKIX
ssl.truststore.certificates PASSWORD HIGH
ssl.truststore.location STRING HIGH
ssl.truststore.password PASSWORD HIGH
ssl.truststore.type STRING MEDIUM JKS
"""
_PRODUCER: Final = """
acks STRING LOW all
batch.size INT MEDIUM 16384
bootstrap.servers LIST HIGH
buffer.memory LONG HIGH 33554432
compression.gzip.level INT MEDIUM -1
compression.lz4.level INT MEDIUM 9
compression.type STRING HIGH none
compression.zstd.level INT MEDIUM 3
connections.max.idle.ms LONG MEDIUM 540000
delivery.timeout.ms INT MEDIUM 120000
enable.idempotence BOOLEAN LOW true
enable.metrics.push BOOLEAN LOW true
interceptor.classes LIST LOW ''
key.serializer CLASS HIGH
linger.ms LONG MEDIUM 5
max.block.ms LONG MEDIUM 60000
max.in.flight.requests.per.connection INT LOW 5
max.request.size INT MEDIUM 1048576
metadata.max.idle.ms LONG LOW 300000
partitioner.adaptive.partitioning.enable BOOLEAN LOW true
partitioner.availability.timeout.ms LONG LOW 0
partitioner.class CLASS MEDIUM
partitioner.ignore.keys BOOLEAN MEDIUM false
receive.buffer.bytes INT MEDIUM 32768
retries INT HIGH 2147483647
transaction.timeout.ms INT LOW 60000
transaction.two.phase.commit.enable BOOLEAN LOW false
transactional.id STRING LOW
value.serializer CLASS HIGH
"""
_ADMIN: Final = """
bootstrap.controllers LIST HIGH ''
bootstrap.servers LIST HIGH ''
connections.max.idle.ms LONG MEDIUM 300000
default.api.timeout.ms INT MEDIUM 60000
enable.metrics.push BOOLEAN LOW false
receive.buffer.bytes INT MEDIUM 65536
retries INT LOW 2147483647
"""


def _rows(client: str, *tables: str) -> dict[str, Key]:
    rows = (line.split() for table in tables for line in table.splitlines() if line)
    return {name: _key(f"{client}.override.{name}", name, kind, importance, *default) for name, kind, importance, *default in rows}


def _key(full: str, name: str, kind: str, importance: str, default: str | None = None) -> Key:
    return Key(
        full,
        cast("Type", kind),
        default and default.strip("'"),
        cast("Importance", importance),
        name,
        f"Kafka's {name} for this connector.",
        required=full.startswith("producer.") and name in _REQUIRED,
        framework=True,
        versions=(),
        fixed_order=-1,
    )


_CLIENTS: Final = {"producer": _rows("producer", _BOTH, _PRODUCER), "admin": _rows("admin", _BOTH, _ADMIN)}


def override_keys(settings: Mapping[str, str | None]) -> list[tuple[Key | None, str | None, str]]:
    """Rows, values and full names of the overrides in ``settings``, in Connect's order; None for a row that no client has.

    Connect tells of the admin client's only where the connector's topics have creation settings, and of a consumer's never.
    """
    found: list[tuple[Key | None, str | None, str]] = []
    for client, keys in _CLIENTS.items():
        prefix = f"{client}.override."
        if client == "admin" and not any(name.startswith("topic.creation.") for name in settings):
            continue
        names = java_order(name.removeprefix(prefix) for name in settings if name.startswith(prefix))
        found += [(keys.get(name), settings[prefix + name], prefix + name) for name in names]
    return found
