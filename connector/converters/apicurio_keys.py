"""The options that Apicurio's converters share (Apicurio Registry documentation, "Kafka serializers/deserializers configuration").

Their defaults differ between the converters 2.x and 3.x, so a default of None means "as the version of the converter has it". No ConfigDef
of Connect lists them, because these converters do not publish theirs.
"""

from __future__ import annotations

from typing import Final

from connector.configdef.key import Type
from connector.converters.confluent_keys import unlisted_key as key

_READING: Final = "It concerns reading alone."
_KEPT: Final = "An answer of the registry is kept until the task ends."
_PREFIX: Final = "apicurio.registry."
_HEADERS: Final = tuple(
    key(f"{_PREFIX}headers.{side}.{part}.name", "STRING", f"apicurio.{side}.{part}", "LOW", f"Name of the header with a {side}'s {part}.")
    for side in ("key", "value")
    for part in ("globalId", "contentId", "contentHash", "groupId", "artifactId", "version", "msgType")
)
_IGNORED: Final = tuple(
    key(_PREFIX + name, "STRING", None, "LOW", doc, support="ignored", reason=reason)
    for name, doc, reason in (
        ("cache-latest", "Whether the newest schema is kept.", _KEPT),
        ("check-period-ms", "How long answers are kept, in ms.", _KEPT),
        ("fault-tolerant-refresh", "Whether an old answer serves while the registry is away.", _KEPT),
        ("use-specific-avro-reader", "Whether generated Java classes are read.", _READING),
        ("fallback.group-id", "Group for records without an id.", _READING),
        ("fallback.artifact-id", "Artifact for records without an id.", _READING),
        ("fallback.version", "Version for records without an id.", _READING),
        ("fallback.provider", "Java class that chooses these.", _READING),
        ("deserializer.dereference-schema", "Whether references are resolved at reading.", _READING),
    )
)


TLS_PREFIXES: Final = ("apicurio.registry.request.ssl.", "apicurio.registry.tls.")
TLS_PARTS: Final = {
    "truststore.location": "PEM file with the authorities to trust.",
    "truststore.type": "Format of the truststore: PEM.",
    "truststore.password": "Password of the truststore; PEM has none.",
    "keystore.location": "PEM file with the client's key and certificates.",
    "keystore.type": "Format of the keystore: PEM.",
    "keystore.password": "Password of the keystore; PEM has none.",
    "key.password": "Password of the client's key.",
}
"""What stands behind these prefixes, as behind Kafka's ``ssl.``."""


def _kind(name: str) -> Type:
    return "PASSWORD" if name.endswith(("password", "secret")) else "STRING"


_SECURITY: Final = (
    *(
        key(name, _kind(name), None, "MEDIUM", doc)
        for prefix in ("apicurio.registry.auth.", "apicurio.auth.")
        for name, doc in (
            (f"{prefix}username", "User."),
            (f"{prefix}password", "Password."),
            (f"{prefix}service.token.endpoint", "OAuth endpoint that issues tokens."),
            (f"{prefix}client.id", "Client's id at the OAuth endpoint."),
            (f"{prefix}client.secret", "Client's secret at the OAuth endpoint."),
            (f"{prefix}client.scope", "Scope of the token."),
        )
    ),
    key("apicurio.auth.service.url", "STRING", None, "MEDIUM", "URL of a Keycloak; the endpoint follows from it and the realm."),
    key("apicurio.auth.realm", "STRING", None, "MEDIUM", "Realm of that Keycloak."),
    *(key(f"{prefix}{part}", _kind(part), None, "MEDIUM", doc) for prefix in TLS_PREFIXES for part, doc in TLS_PARTS.items()),
    key("apicurio.registry.tls.certificates", "STRING", None, "MEDIUM", "Further PEM file with authorities to trust."),
    key("apicurio.registry.tls.verify-host", "BOOLEAN", "true", "LOW", "Whether the certificate must name the registry's host."),
    key("apicurio.registry.proxy.host", "STRING", None, "LOW", "Host of an HTTP proxy."),
    key("apicurio.registry.proxy.port", "INT", "-1", "LOW", "Port of the proxy."),
)

APICURIO_KEYS: Final = (
    key("apicurio.registry.url", "STRING", None, "HIGH", "URL of the registry's own API.", required=True),
    key("apicurio.registry.auto-register", "BOOLEAN", "false", "HIGH", "Whether schemas are registered; otherwise they must exist."),
    key("apicurio.registry.auto-register.if-exists", "STRING", None, "MEDIUM", "What registering does where the artifact exists."),
    key("apicurio.registry.find-latest", "BOOLEAN", "false", "MEDIUM", "Whether the artifact's newest schema is used."),
    key("apicurio.registry.dereference-schema", "BOOLEAN", None, "MEDIUM", "Whether nested records are registered within the schema."),
    key("apicurio.registry.artifact-resolver-strategy", "CLASS", None, "MEDIUM", "How artifacts are named."),
    key("apicurio.registry.artifact.group-id", "STRING", None, "MEDIUM", "Group of all artifacts."),
    key("apicurio.registry.artifact.artifact-id", "STRING", None, "MEDIUM", "Name of all artifacts."),
    key("apicurio.registry.artifact.version", "STRING", None, "MEDIUM", "Version of all artifacts."),
    key("apicurio.registry.id-handler", "CLASS", None, "MEDIUM", "How many bytes the id has."),
    key("apicurio.registry.as-confluent", "BOOLEAN", "false", "LOW", "Whether the id has 4 bytes (converters 2.x)."),
    key("apicurio.registry.use-id", "STRING", None, "MEDIUM", "Which id is sent: contentId or globalId."),
    key("apicurio.registry.headers.enabled", "BOOLEAN", None, "MEDIUM", "Whether the id is sent in a header."),
    key("apicurio.registry.headers.handler", "CLASS", None, "LOW", "Class that writes the header; the default one alone."),
    key("apicurio.registry.retry-count", "LONG", "3", "LOW", "How often a request is sent again."),
    key("apicurio.registry.retry-backoff-ms", "LONG", "300", "LOW", "Wait before a repetition, in ms."),
    *_HEADERS,
    *_SECURITY,
    *_IGNORED,
)
AVRO_SERDE_KEYS: Final = (
    key("apicurio.registry.avro.encoding", "STRING", "BINARY", "MEDIUM", "Encoding of values: BINARY."),
    key(
        "apicurio.registry.avro-datum-provider",
        "CLASS",
        None,
        "LOW",
        "Class that writes Avro; it makes no difference to Connect's records.",
    ),
    key("connect.meta.data", "BOOLEAN", "true", "LOW", "Whether Avro schemas keep what only Connect knows, as properties connect.*."),
    key("enhanced.avro.schema.support", "BOOLEAN", "false", "MEDIUM", "Whether strings that stand for enums become enums."),
    key("schemas.cache.config", "INT", "1000", "LOW", "Number of schemas kept.", support="ignored", reason="All are kept."),
)
