"""Every property of Kafka's clients (4.3: producer, consumer, admin) and what becomes of each here.

Three sorts: honoured; idle, which means that the property has no effect and the log says so; and refused, where the client would
behave otherwise than the property asks. ``python -m connector.kafka_keys > docs/kafka-clients.md`` writes the page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Client = Literal["producer", "consumer", "admin"]
Fate = Literal["honoured", "idle", "refused"]

_JVM: Final = "a matter of Java"
_METRICS: Final = "Kafka's own metrics are not kept"
_SOCKETS: Final = "the system sizes buffers and times of sockets"
_RECONNECT: Final = "a connection is made again when it is needed, after retry.backoff.ms"
_RESOLVE: Final = "all addresses of a name are tried"
_KERBEROS: Final = "Kerberos is not offered; sasl.mechanism refuses it"
_BROKER: Final = "checked by brokers, not by clients"
_TLS: Final = "TLS is OpenSSL's"
_CLASS: Final = "Java classes cannot be loaded. Remove the property"
_SIGNING: Final = "assertions are not signed here. Let another program write one into a file and name it in sasl.oauthbearer.assertion.file"
_BATCHES: Final = "a batch fills while the one before is on its way, and goes as soon as that is acknowledged"
_LASTING: Final = "what could not be delivered makes the task begin again behind the last event that was"


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of a property. ``why`` is the reason, for a refusal with the mend; ``harmless`` says which values nobody minds."""

    fate: Fate
    why: str = ""
    harmless: Callable[[str], bool] = lambda value: not value.strip()
    harmless_words: str = "empty"


def _idle(why: str, *keys: str) -> dict[str, Rule]:
    return dict.fromkeys(keys, Rule("idle", why))


def _honoured(*keys: str) -> dict[str, Rule]:
    return dict.fromkeys(keys, Rule("honoured"))


def _refused(why: str, *keys: str, but: tuple[str, ...] = ()) -> dict[str, Rule]:
    """``but``: values that ask for what is done anyway, in any case."""
    rule = Rule("refused", why, lambda value: value.strip().lower() in ("", *(word.lower() for word in but)), ", ".join(but) or "empty")
    return dict.fromkeys(keys, rule)


_COMMON: Final[Mapping[str, Rule]] = {
    **_honoured(
        "bootstrap.servers",
        "client.id",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
        "request.timeout.ms",
        "retry.backoff.ms",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
    ),
    **_idle(_JVM, "auto.include.jmx.reporter", "security.providers"),
    **_idle(_METRICS, "enable.metrics.push", "metric.reporters", "metrics.num.samples", "metrics.recording.level"),
    **_idle(_METRICS, "metrics.sample.window.ms"),
    **_idle(_SOCKETS, "receive.buffer.bytes", "send.buffer.bytes"),
    **_idle("request.timeout.ms bounds it", "socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms"),
    **_idle(_RECONNECT, "reconnect.backoff.max.ms", "reconnect.backoff.ms", "retry.backoff.max.ms"),
    **_idle(_RESOLVE, "client.dns.lookup"),
    **_idle("a task that reaches no broker begins again with bootstrap.servers", "metadata.recovery.rebootstrap.trigger.ms"),
    **_idle("a task that reaches no broker begins again with bootstrap.servers", "metadata.recovery.strategy"),
    **_idle(
        _KERBEROS,
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
    ),
    **_idle(
        _BROKER,
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
    ),
    **_idle(
        _TLS,
        "ssl.cipher.suites",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    ),
    **_idle("a PEM file has no password; ssl.key.password opens an encrypted key", "ssl.keystore.password", "ssl.truststore.password"),
    **_refused(_CLASS, "sasl.client.callback.handler.class", "sasl.login.class", "ssl.engine.factory.class"),
    **_refused("references are resolved by the worker's config.providers. Remove the property", "config.providers"),
    **_refused(
        _SIGNING,
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
    ),
    **_idle(
        "counts for assertions that are signed here, which are refused",
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
    ),
}

_SERIALIZER: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"
_DESERIALIZERS: Final = tuple(f"org.apache.kafka.common.serialization.{kind}Deserializer" for kind in ("ByteArray", "String"))

KEYS: Final[Mapping[Client, Mapping[str, Rule]]] = {
    "producer": {
        **_COMMON,
        **_honoured(
            "acks",
            "compression.gzip.level",
            "compression.lz4.level",
            "compression.type",
            "compression.zstd.level",
            "enable.idempotence",
            "max.request.size",
        ),
        **_idle(_BATCHES, "batch.size", "linger.ms"),
        **_idle("a task reads on only while less than 8 MB wait or are on their way", "buffer.memory", "max.block.ms"),
        **_idle(_LASTING, "delivery.timeout.ms", "retries"),
        **_idle("one request of a partition is on its way at a time", "max.in.flight.requests.per.connection"),
        **_idle("topics are forgotten with the task", "metadata.max.idle.ms"),
        **_idle("a record without a key goes where least waits", "partitioner.adaptive.partitioning.enable"),
        **_idle("a record without a key goes where least waits", "partitioner.availability.timeout.ms"),
        **_idle("transactions are the worker's own", "transaction.timeout.ms"),
        **_refused(_CLASS, "interceptor.classes"),
        **_refused(
            "Java classes cannot be loaded; a record goes by its key's hash. Remove the property",
            "partitioner.class",
            but=("org.apache.kafka.clients.producer.internals.DefaultPartitioner",),
        ),
        **_refused("records of one row would lose their order. Set it to false", "partitioner.ignore.keys", but=("false",)),
        **_refused("transactions are the worker's own. Remove the property", "transactional.id"),
        **_refused("it is not offered. Set it to false", "transaction.two.phase.commit.enable", but=("false",)),
        **_refused("converters make the bytes. Remove the property", "key.serializer", "value.serializer", but=(_SERIALIZER,)),
    },
    "consumer": {
        **_COMMON,
        **_honoured(
            "auto.offset.reset",
            "check.crcs",
            "client.rack",
            "fetch.max.bytes",
            "fetch.max.wait.ms",
            "fetch.min.bytes",
            "group.instance.id",
            "heartbeat.interval.ms",
            "isolation.level",
            "max.partition.fetch.bytes",
            "max.poll.interval.ms",
            "max.poll.records",
            "session.timeout.ms",
        ),
        **_idle("signal.kafka.groupId names the group", "group.id"),
        **_idle("a signal is committed when it has been taken", "auto.commit.interval.ms", "enable.auto.commit"),
        **_idle(
            "partition 0 of one topic is read, without the group's assignment",
            "allow.auto.create.topics",
            "exclude.internal.topics",
            "group.protocol",
            "group.remote.assignor",
            "partition.assignment.strategy",
            "share.acknowledgement.mode",
            "share.acquire.mode",
        ),
        **_idle("request.timeout.ms bounds it", "default.api.timeout.ms"),
        **_idle("internal to Kafka", "internal.throw.on.fetch.stable.offset.unsupported"),
        **_refused(_CLASS, "interceptor.classes"),
        **_refused("signals are read as bytes. Remove the property", "key.deserializer", but=_DESERIALIZERS),
        **_refused("signals are read as bytes. Remove the property", "value.deserializer", but=_DESERIALIZERS),
    },
    "admin": {
        **_COMMON,
        **_idle("request.timeout.ms bounds it", "default.api.timeout.ms"),
        **_idle("a topic that could not be made makes the task begin again", "retries"),
        **_refused("topics are made by brokers. Set bootstrap.servers instead", "bootstrap.controllers"),
    },
}


@dataclass(frozen=True, slots=True)
class Sorted:
    """Properties of one client that do not simply count."""

    refused: Mapping[str, str]
    """Key → why, and the mend."""
    idle: tuple[str, ...]
    unknown: tuple[str, ...]


def sort_out(client: Client, properties: Mapping[str, str]) -> Sorted:
    """What becomes of ``properties`` (names without a prefix), as far as names and whole words tell."""
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

This page is made from the table in `connector/kafka_keys.py`; change the table, then run
`python -m connector.kafka_keys > docs/kafka-clients.md`.

They stand in a worker's file as they are (the worker's own clients, and the connectors' where these have none of their own), under
`producer.` and `admin.`; in a connector under `producer.override.`, `admin.override.` and `signal.consumer.`.

Each property is one of

- **honoured**: the client does what the property says;
- **idle**: it has no effect, and the log says so;
- **refused**: the worker does not start with it, or the connector's task fails (with `preflight=refuse` the connector is not saved
  either); values in parentheses are taken.

What Kafka 4.3 does not know is passed over, and named in a warning.

"""


def render() -> str:
    """The page."""
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
