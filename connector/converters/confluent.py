"""What Confluent's converters have in common: the registry, subjects, ids, and the form of the bytes.

Bytes: a zero, the schema's id in 4 bytes, the value (Confluent documentation, "Wire format"). With ``HeaderSchemaIdSerializer`` the value
alone, and the schema's GUID in a header.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from connector.configdef.options import OptionError, Options
from connector.converters.confluent_keys import (
    CLIENT_KEYS,
    CLIENT_PREFIX,
    HEADER_ID,
    NO_CONTEXT,
    PREFIX_ID,
    RECORD_NAME,
    TLS_KEYS,
    TOPIC_NAME,
    TOPIC_RECORD_NAME,
)
from connector.converters.converter import SchemaRequest, Side
from connector.converters.registry import (
    Action,
    Reference,
    RegisteredSchema,
    Registry,
    RegistrySettings,
    SchemaAsk,
    SchemaType,
    TokenEndpoint,
    Wire,
)
from connector.record.connect_record import DataError

_REQUEST_HEADER: Final = "request.header."
_IDENTIFICATION: Final = "ssl.endpoint.identification.algorithm"
_STRATEGIES: Final = (TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME)


@dataclass(frozen=True, slots=True)
class Subjects:
    """How the schemas of one converter are named, and found in the registry."""

    side: Side
    strategy: str
    action: Action
    normalize: bool
    strict: bool
    schema_id: int
    in_header: bool

    @classmethod
    def of(cls, options: Options, side: Side) -> Subjects:
        """Read the options. Raises OptionError for Java classes other than Confluent's own."""
        which = "key" if side == "key" else "value"
        strategy = _one_of(options, f"{which}.subject.name.strategy", _STRATEGIES)
        serializer = _one_of(options, f"{which}.schema.id.serializer", (PREFIX_ID, HEADER_ID))
        _one_of(options, "context.name.strategy", (NO_CONTEXT,))
        schema_id = options.number("use.schema.id")
        action: Action = "look up"
        if options.flag("auto.register.schemas"):
            action = "register"
        elif schema_id >= 0:
            action = "by id"
        elif options.flag("use.latest.version"):
            action = "latest"
        strict = options.flag("id.compatibility.strict" if action == "by id" else "latest.compatibility.strict")
        return cls(side, strategy, action, options.flag("normalize.schemas"), strict, schema_id, serializer == HEADER_ID)

    def subject(self, topic: str, record_name: str | None) -> str:
        """Name the subject; ``record_name`` is None for a schema that is no record. Raises DataError where the strategy needs one."""
        which = "key" if self.side == "key" else "value"
        if self.strategy == TOPIC_NAME:
            return f"{topic}-{which}"
        if record_name is None:
            raise DataError(
                f"In configuration {which}.subject.name.strategy = {self.strategy}, the message {which} must only be a record schema"
            )
        return record_name if self.strategy == RECORD_NAME else f"{topic}-{record_name}"

    def request(
        self, topic: str, record_name: str | None, kind: SchemaType, text: str, references: tuple[Reference, ...] = ()
    ) -> SchemaRequest:
        """What to ask the registry. Raises DataError."""
        subject = self.subject(topic, record_name)
        if self.action in ("latest", "by id"):
            return SchemaRequest(subject, SchemaAsk(self.action, kind, schema_id=self.schema_id))
        return SchemaRequest(subject, SchemaAsk(self.action, kind, text, references, self.normalize))

    def wire(self, answer: RegisteredSchema, indexes: bytes = b"") -> Wire:
        """Frame the values of a schema; ``indexes`` say which message of it they are (Protobuf). Raises DataError."""
        if not self.in_header:
            return Wire(b"\0" + answer.id.to_bytes(4, "big") + indexes)
        if not answer.guid:
            raise DataError("The schema registry sent no GUID, which HeaderSchemaIdSerializer needs")
        return Wire(b"", ((f"__{self.side}_schema_id", b"\1" + UUID(answer.guid).bytes + indexes),))


def _one_of(options: Options, name: str, known: tuple[str, ...]) -> str:
    value = options.needed(name)
    if value not in known:
        raise OptionError(f"Invalid value {value} for configuration {name}: Java classes cannot be loaded. Use one of {', '.join(known)}")
    return value


def confluent_registry(options: Options) -> Registry:
    """Return the registry that the options name. Raises OptionError."""
    urls = options.names("schema.registry.url")
    if not urls:
        raise OptionError('Missing required configuration "schema.registry.url" which has no default value.')
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise OptionError("Invalid value for configuration schema.registry.url: Write URLs of http or https, separated by commas")
    client = _client_options(options)
    user_info, login_module = _basic(client)
    token, endpoint = _bearer(client)
    headers = list(options.under(_REQUEST_HEADER).items())
    for option, header in (
        ("bearer.auth.logical.cluster", "target-sr-cluster"),
        ("bearer.auth.identity.pool.id", "Confluent-Identity-Pool-Id"),
    ):
        if (value := client.text(option)) and (token or endpoint):
            headers.append((header, value))
    host, port = client.text("proxy.host"), client.number("proxy.port")
    return Registry(
        RegistrySettings(
            "confluent",
            tuple(url.rstrip("/") for url in urls),
            user_info=user_info,
            login_module=login_module,
            token=token,
            token_endpoint=endpoint,
            ssl=_tls(options),
            headers=tuple(headers),
            proxy=f"http://{host}:{port}" if host and port > 0 else "",
            connect_ms=client.number("http.connect.timeout.ms"),
            read_ms=client.number("http.read.timeout.ms"),
            retries=client.number("max.retries"),
            retry_ms=client.number("retries.wait.ms"),
            retry_most_ms=client.number("retries.max.wait.ms"),
        ),
        options.number("latest.cache.ttl.sec"),
    )


def _client_options(options: Options) -> Options:
    """What the registry's client reads, without its prefix. An option with the prefix prevails."""
    found: dict[str, str] = {}
    for key in CLIENT_KEYS:
        for name in (key.name, CLIENT_PREFIX + key.name):
            if name in options and (value := options.raw[name]).strip():
                found[key.name] = value
    return Options(CLIENT_KEYS, found, options.emulation)


def _tls(options: Options) -> tuple[tuple[str, str], ...]:
    """Kafka's properties ``ssl.*``, which the client reads with the prefix alone."""
    found = {key.name.removeprefix(CLIENT_PREFIX): options.raw[key.name] for key in TLS_KEYS if key.name in options}
    if found.get(_IDENTIFICATION, "").strip() == "none":
        # The registry's client takes this word too; Kafka's properties know the empty value alone.
        found[_IDENTIFICATION] = ""
    return tuple(found.items())


def _basic(options: Options) -> tuple[str, str]:
    """Return user info, and the login module to take it from."""
    source = options.needed("basic.auth.credentials.source").upper()
    if source == "URL":
        return "", ""
    if source == "USER_INFO":
        found = options.text("basic.auth.user.info")
        if not found:
            raise OptionError("UserInfo must be provided when basic.auth.credentials.source is set to USER_INFO")
        return found, ""
    if source == "SASL_INHERIT":
        module = options.text("sasl.jaas.config")
        if not module:
            raise OptionError("The option sasl.jaas.config must be set when basic.auth.credentials.source is set to SASL_INHERIT")
        return "", module
    raise OptionError(f"Invalid value {source} for configuration basic.auth.credentials.source: Choose one of URL, USER_INFO, SASL_INHERIT")


def _bearer(options: Options) -> tuple[str, TokenEndpoint | None]:
    source = (options.text("bearer.auth.credentials.source") or "").upper()
    if not source:
        return "", None
    if source == "STATIC_TOKEN":
        token = options.text("bearer.auth.token")
        if not token:
            raise OptionError("The option bearer.auth.token must be set when bearer.auth.credentials.source is set to STATIC_TOKEN")
        return token, None
    if source == "OAUTHBEARER":
        named = [options.text(f"bearer.auth.{name}") for name in ("issuer.endpoint.url", "client.id", "client.secret")]
        if not all(named):
            raise OptionError(
                "The options bearer.auth.issuer.endpoint.url, bearer.auth.client.id and bearer.auth.client.secret must be set when "
                "bearer.auth.credentials.source is set to OAUTHBEARER"
            )
        url, client, secret = (text or "" for text in named)
        return "", TokenEndpoint(
            url,
            client,
            secret,
            options.text("bearer.auth.scope") or "",
            options.number("bearer.auth.cache.expiry.buffer.seconds"),
        )
    raise OptionError(f"Invalid value {source} for configuration bearer.auth.credentials.source: Choose one of STATIC_TOKEN, OAUTHBEARER")
