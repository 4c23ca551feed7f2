"""The options that Confluent's converters share: the registry's, and those of subjects.

Source: Confluent documentation, "Schema Registry Client Configuration". No ConfigDef of Connect lists them, because these converters do not
publish theirs.
"""

from __future__ import annotations

from typing import Final

from connector.configdef.key import Importance, Key, Support, Type

_SUBJECTS: Final = "io.confluent.kafka.serializers.subject."
_IDS: Final = "io.confluent.kafka.serializers.schema.id."
TOPIC_NAME: Final = _SUBJECTS + "TopicNameStrategy"
RECORD_NAME: Final = _SUBJECTS + "RecordNameStrategy"
TOPIC_RECORD_NAME: Final = _SUBJECTS + "TopicRecordNameStrategy"
PREFIX_ID: Final = _IDS + "PrefixSchemaIdSerializer"
HEADER_ID: Final = _IDS + "HeaderSchemaIdSerializer"
NO_CONTEXT: Final = "io.confluent.kafka.serializers.context.NullContextNameStrategy"
_ONE_URL: Final = "The URLs are tried in their order."
_NO_RULES: Final = "Rules of a schema are not executed."


def unlisted_key(
    name: str,
    kind: Type,
    default: str | None,
    importance: Importance,
    doc: str,
    *,
    required: bool = False,
    support: Support = "honoured",
    reason: str = "",
) -> Key:
    """Return the row of an option that is read, and that no ConfigDef of Connect lists."""
    return Key(
        name,
        kind,
        default,
        importance,
        name,
        doc,
        versions=(),
        required=required,
        framework=True,
        fixed_order=-1,
        support=support,
        reason=reason,
    )


TLS_KEYS: Final = (
    unlisted_key("schema.registry.ssl.truststore.location", "STRING", None, "HIGH", "PEM file with the authorities to trust."),
    unlisted_key("schema.registry.ssl.truststore.type", "STRING", "JKS", "MEDIUM", "Format of the truststore: PEM."),
    unlisted_key("schema.registry.ssl.truststore.password", "PASSWORD", None, "HIGH", "Password of the truststore; PEM has none."),
    unlisted_key("schema.registry.ssl.truststore.certificates", "PASSWORD", None, "HIGH", "The authorities themselves, as PEM."),
    unlisted_key("schema.registry.ssl.keystore.location", "STRING", None, "HIGH", "PEM file with the client's key and certificates."),
    unlisted_key("schema.registry.ssl.keystore.type", "STRING", "JKS", "MEDIUM", "Format of the keystore: PEM."),
    unlisted_key("schema.registry.ssl.keystore.password", "PASSWORD", None, "HIGH", "Password of the keystore; PEM has none."),
    unlisted_key("schema.registry.ssl.keystore.key", "PASSWORD", None, "HIGH", "The client's key itself, as PEM."),
    unlisted_key("schema.registry.ssl.keystore.certificate.chain", "PASSWORD", None, "HIGH", "Its certificates themselves, as PEM."),
    unlisted_key("schema.registry.ssl.key.password", "PASSWORD", None, "HIGH", "Password of the client's key."),
    unlisted_key("schema.registry.ssl.protocol", "STRING", "TLSv1.3", "MEDIUM", "Newest version of TLS to offer."),
    unlisted_key("schema.registry.ssl.enabled.protocols", "LIST", "TLSv1.2,TLSv1.3", "MEDIUM", "Versions of TLS to offer."),
    unlisted_key("schema.registry.ssl.cipher.suites", "LIST", None, "LOW", "Cipher suites to offer."),
    unlisted_key(
        "schema.registry.ssl.endpoint.identification.algorithm",
        "STRING",
        "https",
        "LOW",
        "Whether the certificate must name the registry's host (https), or need not (empty or none).",
    ),
)

_LOGIN: Final = (
    unlisted_key(
        "basic.auth.credentials.source",
        "STRING",
        "URL",
        "MEDIUM",
        "Where user and password stand: URL, USER_INFO or SASL_INHERIT (the user of sasl.jaas.config).",
    ),
    unlisted_key("basic.auth.user.info", "PASSWORD", "", "MEDIUM", "User and password, separated by a colon."),
    unlisted_key("sasl.jaas.config", "PASSWORD", None, "MEDIUM", "Login module whose user and password SASL_INHERIT takes."),
    unlisted_key(
        "bearer.auth.credentials.source",
        "STRING",
        None,
        "MEDIUM",
        "Where the bearer token comes from: STATIC_TOKEN or OAUTHBEARER.",
    ),
    unlisted_key("bearer.auth.token", "PASSWORD", "", "MEDIUM", "The bearer token."),
    unlisted_key("bearer.auth.issuer.endpoint.url", "STRING", None, "MEDIUM", "OAuth endpoint that issues tokens."),
    unlisted_key("bearer.auth.client.id", "STRING", None, "MEDIUM", "Client's id at the OAuth endpoint."),
    unlisted_key("bearer.auth.client.secret", "PASSWORD", None, "MEDIUM", "Client's secret at the OAuth endpoint."),
    unlisted_key("bearer.auth.scope", "STRING", None, "MEDIUM", "Scope of the token."),
    unlisted_key("bearer.auth.logical.cluster", "STRING", None, "MEDIUM", "Value of the header target-sr-cluster."),
    unlisted_key("bearer.auth.identity.pool.id", "STRING", None, "MEDIUM", "Value of the header Confluent-Identity-Pool-Id."),
    unlisted_key(
        "bearer.auth.cache.expiry.buffer.seconds",
        "SHORT",
        "300",
        "LOW",
        "Seconds before a token's end at which it is fetched again.",
    ),
)

_CONNECTION: Final = (
    unlisted_key("proxy.host", "STRING", "", "LOW", "Host of an HTTP proxy."),
    unlisted_key("proxy.port", "INT", "-1", "LOW", "Port of the proxy."),
    unlisted_key("http.connect.timeout.ms", "INT", "60000", "LOW", "Time to connect to the registry, in ms."),
    unlisted_key("http.read.timeout.ms", "INT", "60000", "LOW", "Time to wait for an answer, in ms."),
    unlisted_key("max.retries", "INT", "3", "LOW", "How often a request is sent again."),
    unlisted_key("retries.wait.ms", "INT", "1000", "LOW", "Longest wait before the first repetition, in ms."),
    unlisted_key("retries.max.wait.ms", "INT", "20000", "LOW", "Longest wait before any repetition, in ms."),
)

CLIENT_PREFIX: Final = "schema.registry."
CLIENT_KEYS: Final = (*_CONNECTION, *_LOGIN)
"""What the registry's client reads with :data:`CLIENT_PREFIX` and without."""

_URL: Final = unlisted_key("schema.registry.url", "LIST", None, "HIGH", f"URLs of the schema registry. {_ONE_URL}", required=True)
_USER_INFO: Final = unlisted_key(
    "schema.registry.basic.auth.user.info", "PASSWORD", "", "MEDIUM", "Older name of basic.auth.user.info; it prevails."
)

_SUBJECT: Final = (
    unlisted_key("auto.register.schemas", "BOOLEAN", "true", "MEDIUM", "Whether schemas are registered; otherwise they must exist."),
    unlisted_key("normalize.schemas", "BOOLEAN", "false", "MEDIUM", "Whether the registry ignores differences without a meaning."),
    unlisted_key(
        "use.latest.version",
        "BOOLEAN",
        "false",
        "LOW",
        "Whether the newest schema of the subject is used; auto.register.schemas must be false.",
    ),
    unlisted_key(
        "latest.compatibility.strict",
        "BOOLEAN",
        "true",
        "LOW",
        "Whether the newest schema must be able to read what the record's schema writes.",
    ),
    unlisted_key("use.schema.id", "INT", "-1", "LOW", "Id of the schema to use; auto.register.schemas must be false."),
    unlisted_key("id.compatibility.strict", "BOOLEAN", "true", "LOW", "Whether that schema must be able to read the record."),
    unlisted_key("key.subject.name.strategy", "CLASS", TOPIC_NAME, "MEDIUM", "How the subject of keys is named."),
    unlisted_key("value.subject.name.strategy", "CLASS", TOPIC_NAME, "MEDIUM", "How the subject of values is named."),
    unlisted_key("key.schema.id.serializer", "CLASS", PREFIX_ID, "MEDIUM", "Whether the id stands before a key or in a header."),
    unlisted_key("value.schema.id.serializer", "CLASS", PREFIX_ID, "MEDIUM", "Whether the id stands before a value or in a header."),
    unlisted_key("context.name.strategy", "CLASS", NO_CONTEXT, "MEDIUM", "How the registry's context is named."),
    unlisted_key("schemas.cache.config", "INT", "1000", "LOW", "Number of schemas kept.", support="ignored", reason="All are kept."),
    unlisted_key(
        "latest.cache.ttl.sec",
        "INT",
        "-1",
        "LOW",
        "Seconds after which the newest schema is asked for again; -1: never. It serves at least ten times as long as the registry took to "
        "answer, or 60 s if that is less.",
    ),
    unlisted_key("rule.executors", "LIST", "", "LOW", "Names of rules to execute.", support="ignored", reason=_NO_RULES),
)

CONFLUENT_KEYS: Final = (_URL, *_CONNECTION, *_SUBJECT, *_LOGIN, _USER_INFO, *TLS_KEYS)
