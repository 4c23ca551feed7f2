"""Every property of Kafka's clients (4.3: producer, consumer, admin) and what Understudy does with each.

A property is honoured, idle or refused. An idle property has no effect, and the log says so. A property is refused if the client would not
do what it asks for. ``python -m connector.config.kafka_clients > docs/kafka-clients.md`` writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

Client = Literal["producer", "consumer", "admin"]
Fate = Literal["honoured", "idle", "refused"]

_JVM: Final = "it concerns Java only"
_METRICS: Final = "Kafka's own metrics do not exist here"
_SOCKETS: Final = "the operating system sets the buffers and timeouts of sockets"
_RECONNECT: Final = "a lost connection is opened again when it is needed, after retry.backoff.ms"
_RESOLVE: Final = "all addresses of a name are tried"
_KERBEROS: Final = "Kerberos is not supported; sasl.mechanism refuses it"
_BROKER: Final = "checked by brokers, not by clients"
_TLS: Final = "OpenSSL implements TLS"
_CLASS: Final = "Java classes cannot be loaded. Remove the property"
_SIGNING: Final = "assertions are not signed here. Let another program write one into a file and name it in sasl.oauthbearer.assertion.file"
_BATCHES: Final = "a batch collects records until the previous one is acknowledged, and is sent then"
_KEYLESS: Final = "a record without a key goes to the partition with the fewest waiting records"
_LASTING: Final = "after a failed delivery the task starts again after the last event that was delivered"


@dataclass(frozen=True, slots=True)
class Rule:
    """What Understudy does with a property.

    ``why`` is the reason, and the remedy if it is refused. ``harmless`` returns whether a value is accepted nevertheless.
    """

    fate: Fate
    why: str = ""
    harmless: Callable[[str], bool] = lambda value: not value.strip()
    harmless_words: str = "empty"
    definition: str = ""
    """Type, importance and default as Kafka defines them; empty for a property of Kafka 3. Without a default, the third part
    is missing. ``a|b`` are the definitions of the producer and the admin client; ``-`` means that the client does not have the
    property."""


def _rows(rule: Rule, rows: Iterable[str]) -> dict[str, Rule]:
    named = (row.partition(" ") for row in rows)
    return {name: replace(rule, definition=definition) for name, _, definition in named}


def _idle(why: str, *rows: str) -> dict[str, Rule]:
    return _rows(Rule("idle", why), rows)


def _honoured(*rows: str) -> dict[str, Rule]:
    return _rows(Rule("honoured"), rows)


def _refused(why: str, *rows: str, but: tuple[str, ...] = ()) -> dict[str, Rule]:
    """Return rules for refused properties. ``but`` are values, in any case, that ask for what Understudy does anyway."""
    rule = Rule("refused", why, lambda value: value.strip().lower() in ("", *(word.lower() for word in but)), ", ".join(but) or "empty")
    return _rows(rule, rows)


_COMMON: Final[Mapping[str, Rule]] = {
    **_honoured(
        "bootstrap.servers LIST HIGH -|''",
        "client.id STRING MEDIUM ''",
        "connections.max.idle.ms LONG MEDIUM 540000|300000",
        "metadata.max.age.ms LONG LOW 300000",
        "request.timeout.ms INT MEDIUM 30000",
        "retry.backoff.ms LONG LOW 100",
        "sasl.jaas.config PASSWORD MEDIUM",
        "sasl.login.callback.handler.class CLASS MEDIUM",
        "sasl.login.connect.timeout.ms INT LOW",
        "sasl.login.read.timeout.ms INT LOW",
        "sasl.login.refresh.buffer.seconds SHORT LOW 300",
        "sasl.login.refresh.min.period.seconds SHORT LOW 60",
        "sasl.login.refresh.window.factor DOUBLE LOW 0.8",
        "sasl.login.refresh.window.jitter DOUBLE LOW 0.05",
        "sasl.login.retry.backoff.max.ms LONG LOW 10000",
        "sasl.login.retry.backoff.ms LONG LOW 100",
        "sasl.mechanism STRING MEDIUM GSSAPI",
        "sasl.oauthbearer.assertion.file STRING MEDIUM",
        "sasl.oauthbearer.client.credentials.client.id STRING MEDIUM",
        "sasl.oauthbearer.client.credentials.client.secret PASSWORD MEDIUM",
        "sasl.oauthbearer.header.urlencode BOOLEAN LOW false",
        "sasl.oauthbearer.jwt.retriever.class CLASS MEDIUM org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        "sasl.oauthbearer.jwt.validator.class CLASS MEDIUM org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        "sasl.oauthbearer.scope STRING MEDIUM",
        "sasl.oauthbearer.sub.claim.name STRING LOW sub",
        "sasl.oauthbearer.token.endpoint.url STRING MEDIUM",
        "security.protocol STRING MEDIUM PLAINTEXT",
        "ssl.enabled.protocols LIST MEDIUM TLSv1.2,TLSv1.3",
        "ssl.endpoint.identification.algorithm STRING LOW https",
        "ssl.key.password PASSWORD HIGH",
        "ssl.keystore.certificate.chain PASSWORD HIGH",
        "ssl.keystore.key PASSWORD HIGH",
        "ssl.keystore.location STRING HIGH",
        "ssl.keystore.type STRING MEDIUM JKS",
        "ssl.truststore.certificates PASSWORD HIGH",
        "ssl.truststore.location STRING HIGH",
        "ssl.truststore.type STRING MEDIUM JKS",
    ),
    **_idle(_JVM, "auto.include.jmx.reporter", "security.providers STRING LOW"),
    **_idle(
        _METRICS,
        "enable.metrics.push BOOLEAN LOW true|false",
        "metric.reporters LIST LOW org.apache.kafka.common.metrics.JmxReporter",
        "metrics.num.samples INT LOW 2",
        "metrics.recording.level STRING LOW INFO",
    ),
    **_idle(_METRICS, "metrics.sample.window.ms LONG LOW 30000"),
    **_idle(_SOCKETS, "receive.buffer.bytes INT MEDIUM 32768|65536", "send.buffer.bytes INT MEDIUM 131072"),
    **_idle(
        "request.timeout.ms bounds it",
        "socket.connection.setup.timeout.max.ms LONG MEDIUM 30000",
        "socket.connection.setup.timeout.ms LONG MEDIUM 10000",
    ),
    **_idle(_RECONNECT, "reconnect.backoff.max.ms LONG LOW 1000", "reconnect.backoff.ms LONG LOW 50", "retry.backoff.max.ms LONG LOW 1000"),
    **_idle(_RESOLVE, "client.dns.lookup STRING MEDIUM use_all_dns_ips"),
    **_idle(
        "a task that reaches no broker begins again with bootstrap.servers", "metadata.recovery.rebootstrap.trigger.ms LONG LOW 300000"
    ),
    **_idle("a task that reaches no broker begins again with bootstrap.servers", "metadata.recovery.strategy STRING LOW rebootstrap"),
    **_idle(
        _KERBEROS,
        "sasl.kerberos.kinit.cmd STRING LOW /usr/bin/kinit",
        "sasl.kerberos.min.time.before.relogin LONG LOW 60000",
        "sasl.kerberos.service.name STRING MEDIUM",
        "sasl.kerberos.ticket.renew.jitter DOUBLE LOW 0.05",
        "sasl.kerberos.ticket.renew.window.factor DOUBLE LOW 0.8",
    ),
    **_idle(
        _BROKER,
        "sasl.oauthbearer.clock.skew.seconds INT LOW 30",
        "sasl.oauthbearer.expected.audience LIST LOW ''",
        "sasl.oauthbearer.expected.issuer STRING LOW",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms LONG LOW 3600000",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms LONG LOW 10000",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms LONG LOW 100",
        "sasl.oauthbearer.jwks.endpoint.url STRING MEDIUM",
        "sasl.oauthbearer.scope.claim.name STRING LOW scope",
    ),
    **_idle(
        _TLS,
        "ssl.cipher.suites LIST LOW ''",
        "ssl.keymanager.algorithm STRING LOW SunX509",
        "ssl.protocol STRING MEDIUM TLSv1.3",
        "ssl.provider STRING MEDIUM",
        "ssl.secure.random.implementation STRING LOW",
        "ssl.trustmanager.algorithm STRING LOW PKIX",
    ),
    **_idle(
        "a PEM file has no password; ssl.key.password opens an encrypted key",
        "ssl.keystore.password PASSWORD HIGH",
        "ssl.truststore.password PASSWORD HIGH",
    ),
    **_refused(
        _CLASS, "sasl.client.callback.handler.class CLASS MEDIUM", "sasl.login.class CLASS MEDIUM", "ssl.engine.factory.class CLASS LOW"
    ),
    **_refused("references are resolved by the worker's config.providers. Remove the property", "config.providers LIST LOW ''"),
    **_refused(
        _SIGNING,
        "sasl.oauthbearer.assertion.claim.aud STRING MEDIUM",
        "sasl.oauthbearer.assertion.claim.iss STRING MEDIUM",
        "sasl.oauthbearer.assertion.claim.sub STRING MEDIUM",
        "sasl.oauthbearer.assertion.private.key.file STRING MEDIUM",
        "sasl.oauthbearer.assertion.private.key.passphrase PASSWORD MEDIUM",
        "sasl.oauthbearer.assertion.template.file STRING MEDIUM",
    ),
    **_idle(
        "it applies only to assertions that the client signs, which are refused",
        "sasl.oauthbearer.assertion.algorithm STRING MEDIUM RS256",
        "sasl.oauthbearer.assertion.claim.exp.seconds INT LOW 300",
        "sasl.oauthbearer.assertion.claim.jti.include BOOLEAN MEDIUM false",
        "sasl.oauthbearer.assertion.claim.nbf.seconds INT LOW 60",
    ),
}

_SERIALIZER: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"
_DESERIALIZERS: Final = tuple(f"org.apache.kafka.common.serialization.{kind}Deserializer" for kind in ("ByteArray", "String"))
_ASSIGNORS: Final = ",".join(f"class org.apache.kafka.clients.consumer.{name}Assignor" for name in ("Range", "CooperativeSticky"))

KEYS: Final[Mapping[Client, Mapping[str, Rule]]] = {
    "producer": {
        **_COMMON,
        **_honoured(
            "acks STRING LOW all",
            "compression.gzip.level INT MEDIUM -1",
            "compression.lz4.level INT MEDIUM 9",
            "compression.type STRING HIGH none",
            "compression.zstd.level INT MEDIUM 3",
            "enable.idempotence BOOLEAN LOW true",
            "linger.ms LONG MEDIUM 5",
            "max.request.size INT MEDIUM 1048576",
        ),
        **_idle(_BATCHES, "batch.size INT MEDIUM 16384"),
        **_idle(
            "a task stops reading while 8 MB wait or are being sent",
            "buffer.memory LONG HIGH 33554432",
            "max.block.ms LONG MEDIUM 60000",
        ),
        **_idle(_LASTING, "delivery.timeout.ms INT MEDIUM 120000", "retries INT HIGH 2147483647"),
        **_idle("a partition has one request in flight at a time", "max.in.flight.requests.per.connection INT LOW 5"),
        **_idle("the metadata of topics is kept until the task ends", "metadata.max.idle.ms LONG LOW 300000"),
        **_idle(_KEYLESS, "partitioner.adaptive.partitioning.enable BOOLEAN LOW true"),
        **_idle(_KEYLESS, "partitioner.availability.timeout.ms LONG LOW 0"),
        **_idle("transactions are the worker's own", "transaction.timeout.ms INT LOW 60000"),
        **_refused(_CLASS, "interceptor.classes LIST LOW ''"),
        **_refused(
            "Java classes cannot be loaded; a record goes by its key's hash. Remove the property",
            "partitioner.class CLASS MEDIUM",
            but=("org.apache.kafka.clients.producer.internals.DefaultPartitioner",),
        ),
        **_refused(
            "records of one row would lose their order. Set it to false", "partitioner.ignore.keys BOOLEAN MEDIUM false", but=("false",)
        ),
        **_refused("transactions are the worker's own. Remove the property", "transactional.id STRING LOW"),
        **_refused("it is not supported. Set it to false", "transaction.two.phase.commit.enable BOOLEAN LOW false", but=("false",)),
        **_refused(
            "converters serialize the records. Remove the property",
            "key.serializer CLASS HIGH",
            "value.serializer CLASS HIGH",
            but=(_SERIALIZER,),
        ),
    },
    "consumer": {
        **_COMMON,
        **_honoured("client.id STRING LOW ''"),
        **_idle(_SOCKETS, "receive.buffer.bytes INT MEDIUM 65536"),
        **_honoured(
            "auto.offset.reset STRING MEDIUM latest",
            "check.crcs BOOLEAN LOW true",
            "client.rack STRING LOW ''",
            "fetch.max.bytes INT MEDIUM 52428800",
            "fetch.max.wait.ms INT LOW 500",
            "fetch.min.bytes INT HIGH 1",
            "group.instance.id STRING MEDIUM",
            "heartbeat.interval.ms INT HIGH 3000",
            "isolation.level STRING MEDIUM read_uncommitted",
            "max.partition.fetch.bytes INT HIGH 1048576",
            "max.poll.interval.ms INT MEDIUM 300000",
            "max.poll.records INT MEDIUM 500",
            "session.timeout.ms INT HIGH 45000",
        ),
        **_idle("signal.kafka.groupId names the group", "group.id STRING HIGH"),
        **_idle(
            "a signal's offset is committed after the signal was read",
            "auto.commit.interval.ms INT LOW 5000",
            "enable.auto.commit BOOLEAN MEDIUM true",
        ),
        **_idle(
            "partition 0 of one topic is read, without the group's assignment",
            "allow.auto.create.topics BOOLEAN MEDIUM true",
            "exclude.internal.topics BOOLEAN MEDIUM true",
            "group.protocol STRING HIGH classic",
            "group.remote.assignor STRING MEDIUM",
            f"partition.assignment.strategy LIST MEDIUM {_ASSIGNORS}",
            "share.acknowledgement.mode STRING MEDIUM implicit",
            "share.acquire.mode STRING MEDIUM BATCH_OPTIMIZED",
        ),
        **_idle("request.timeout.ms bounds it", "default.api.timeout.ms INT MEDIUM 60000"),
        **_idle("internal to Kafka", "internal.throw.on.fetch.stable.offset.unsupported BOOLEAN LOW false"),
        **_refused(_CLASS, "interceptor.classes LIST LOW ''"),
        **_refused("signals are read as bytes. Remove the property", "key.deserializer CLASS HIGH", but=_DESERIALIZERS),
        **_refused("signals are read as bytes. Remove the property", "value.deserializer CLASS HIGH", but=_DESERIALIZERS),
    },
    "admin": {
        **_COMMON,
        **_idle("request.timeout.ms bounds it", "default.api.timeout.ms INT MEDIUM 60000"),
        **_idle("the task starts again if a topic could not be created", "retries INT LOW 2147483647"),
        **_refused("brokers create topics. Set bootstrap.servers instead", "bootstrap.controllers LIST HIGH ''"),
    },
}


@dataclass(frozen=True, slots=True)
class Sorted:
    """The given properties of one client that have no effect or are refused."""

    refused: Mapping[str, str]
    """For each refused property, the reason and the remedy."""
    idle: tuple[str, ...]
    unknown: tuple[str, ...]


def sort_out(client: Client, properties: Mapping[str, str]) -> Sorted:
    """Sort out those of ``properties`` (names without a prefix) that are refused, idle or unknown."""
    rules = KEYS[client]
    refused: dict[str, str] = {}
    idle: list[str] = []
    unknown: list[str] = []
    for key, value in properties.items():
        rule = rules.get(key)
        if rule is None:
            unknown.append(key)
        elif rule.fate == "refused" and not rule.harmless(value):
            refused[key] = rule.why
        elif rule.fate == "idle":
            idle.append(key)
    return Sorted(refused, tuple(idle), tuple(unknown))


_INTRODUCTION: Final = """# Properties of Kafka's clients

This page is made from the table in `connector/config/kafka_clients.py`; change the table, then run
`python -m connector.config.kafka_clients > docs/kafka-clients.md`.

They stand in a worker's file as they are (the worker's own clients, and the connectors' where these have none of their own), under
`producer.` and `admin.`; in a connector under `producer.override.`, `admin.override.` and `signal.consumer.`.

Each property is one of

- **honoured**: the client does what the property says;
- **idle**: it has no effect, and the log says so;
- **refused**: the worker does not start with it, or the connector's task fails (with `preflight=refuse` the connector is not saved
  either); values in parentheses are taken.

Properties that Kafka 4.3 does not know are ignored, and a warning names them.

"""


def render() -> str:
    """Return the page."""
    lines = [_INTRODUCTION.rstrip("\n"), "", "## All clients", "", *_table(_COMMON)]
    for client, rules in KEYS.items():
        lines += ["", f"## {client.capitalize()}", "", *_table({key: rule for key, rule in rules.items() if key not in _COMMON})]
    return "\n".join(lines) + "\n"


def _table(rules: Mapping[str, Rule]) -> Iterable[str]:
    yield "| property | |"
    yield "|---|---|"
    for key, rule in sorted(rules.items()):
        fate = f"**{rule.fate}**" + (f" ({rule.harmless_words})" if rule.fate == "refused" and rule.harmless_words != "empty" else "")
        yield f"| `{key}` | {fate}{': ' + rule.why if rule.why else ''} |"


if __name__ == "__main__":
    sys.stdout.write(render())
