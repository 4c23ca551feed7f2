"""What Apicurio's converters have in common: the registry, the names of artifacts, and the form of the bytes.

There are two generations, 2.x and 3.x, with defaults of their own. The URL's path tells which (``/apis/registry/v2`` or ``v3``). Without
one, Debezium 2.3.4 has converters 2.x and later versions have 3.x. Source: Apicurio's documentation, and bytes recorded from both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from connector.configdef.options import OptionError, Options
from connector.converters.apicurio_keys import TLS_PARTS, TLS_PREFIXES
from connector.converters.avro.avro_schema import AvroSchema
from connector.converters.converter import RawHeader, SchemaRequest, Side
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
from connector.emulation import DEBEZIUM_2_3_4
from connector.record.connect_record import DataError

Generation = Literal[2, 3]

_SERDE: Final = "io.apicurio.registry.serde."
TOPIC_ID: Final = f"{_SERDE}strategy.TopicIdStrategy"
SIMPLE_TOPIC_ID: Final = f"{_SERDE}strategy.SimpleTopicIdStrategy"
RECORD_ID: Final = f"{_SERDE}avro.strategy.RecordIdStrategy"
TOPIC_RECORD_ID: Final = f"{_SERDE}avro.strategy.TopicRecordIdStrategy"
QUALIFIED_RECORD_ID: Final = f"{_SERDE}avro.strategy.QualifiedRecordIdStrategy"
_STRATEGIES: Final = (TOPIC_ID, SIMPLE_TOPIC_ID, RECORD_ID, TOPIC_RECORD_ID, QUALIFIED_RECORD_ID)
_HANDLERS: Final = {
    f"{_SERDE}Default4ByteIdHandler": 4,
    f"{_SERDE}Legacy4ByteIdHandler": 4,
    f"{_SERDE}Legacy8ByteIdHandler": 8,
    f"{_SERDE}DefaultIdHandler": 8,
}
_DEFAULT_HEADERS: Final = f"{_SERDE}headers.DefaultHeadersHandler"
_EXISTS: Final[dict[Generation, tuple[str, ...]]] = {
    2: ("RETURN_OR_UPDATE", "FAIL", "UPDATE", "RETURN"),
    3: ("FIND_OR_CREATE_VERSION", "FAIL", "CREATE_VERSION"),
}
_REQUEST_HEADER: Final = "apicurio.registry.request.headers."


@dataclass(frozen=True, slots=True)
class Artifacts:
    """How the schemas of one converter are named, and found in the registry, and how their ids are sent."""

    side: Side
    generation: Generation
    strategy: str
    action: Action
    if_exists: str
    group: str
    artifact: str
    version: str
    dereference: bool
    id_size: int
    content_id: bool
    header: str
    """Name of the header with the id; empty where it stands before the value."""

    @classmethod
    def of(cls, options: Options, side: Side) -> Artifacts:
        """Read the options. Raises OptionError for Java classes other than Apicurio's own."""
        generation = generation_of(options)
        action: Action = "look up"
        if options.flag("apicurio.registry.auto-register"):
            action = "register"
        elif options.flag("apicurio.registry.find-latest") or options.text("apicurio.registry.artifact.version"):
            action = "latest"
        use_id = _choice(options, "use-id", ("contentId", "globalId") if generation == 3 else ("globalId", "contentId"))
        handler = _choice(options, "id-handler", tuple(_HANDLERS) if generation == 3 else tuple(reversed(_HANDLERS)))
        confluent = generation == 2 and options.flag("apicurio.registry.as-confluent")
        _choice(options, "headers.handler", (_DEFAULT_HEADERS,))
        in_header = _flag(options, "headers.enabled", default=generation == 2)
        which = "key" if side == "key" else "value"
        return cls(
            side,
            generation,
            _choice(options, "artifact-resolver-strategy", _STRATEGIES),
            action,
            _choice(options, "auto-register.if-exists", _EXISTS[generation]),
            options.text("apicurio.registry.artifact.group-id") or "",
            options.text("apicurio.registry.artifact.artifact-id") or "",
            options.text("apicurio.registry.artifact.version") or "",
            _flag(options, "dereference-schema", default=generation == 2),
            4 if confluent else _HANDLERS[handler],
            use_id == "contentId",
            options.needed(f"apicurio.registry.headers.{which}.{use_id}.name") if in_header else "",
        )

    @property
    def inlines(self) -> bool:
        """Whether nested records stand within the schema. Converters 2.x look up the text that names them, whatever the option."""
        return self.dereference and not (self.generation == 2 and self.action == "look up")

    def request(
        self, topic: str, avro: AvroSchema | None, kind: SchemaType, text: str, references: tuple[Reference, ...] = ()
    ) -> SchemaRequest:
        """What to ask the registry. Raises DataError where the artifact is named after a record, and ``avro`` is none."""
        group, artifact = self._coordinates(topic, avro)
        return self._asking(group, self.artifact or artifact, kind, text, references)

    def reference(self, avro: AvroSchema, text: str, topic: str, references: tuple[Reference, ...]) -> Reference:
        """A nested record, registered by its full name."""
        group, _ = self._coordinates(topic, avro)
        name = avro.full_name
        return Reference(name, self._asking(group, name, "AVRO", text, references))

    def _asking(self, group: str, artifact: str, kind: SchemaType, text: str, references: tuple[Reference, ...]) -> SchemaRequest:
        return SchemaRequest(
            artifact,
            SchemaAsk(
                self.action,
                kind,
                "" if self.action == "latest" else text,
                # What a schema refers to is registered with it, and not looked up.
                references if self.action == "register" else (),
                group=self.group or group or "default",
                if_exists=self.if_exists,
                version=self.version,
            ),
        )

    def _coordinates(self, topic: str, avro: AvroSchema | None) -> tuple[str, str]:
        if self.strategy == TOPIC_ID:
            return "", f"{topic}-{'key' if self.side == 'key' else 'value'}"
        if self.strategy == SIMPLE_TOPIC_ID:
            return "", topic
        if avro is None or avro.type not in ("record", "enum"):
            raise DataError("The message must only be an Avro record schema!")
        if self.strategy == QUALIFIED_RECORD_ID:
            return "", avro.full_name
        name = avro.name or ""
        return avro.namespace or "", name if self.strategy == RECORD_ID else f"{topic}-{name}"

    def wire(self, answer: RegisteredSchema, encoding: str = "") -> Wire:
        """Frame the values of a schema. ``encoding`` goes into a header of its own, where headers are used."""
        number = answer.id if self.content_id else answer.global_id
        if not self.header:
            return Wire(b"\0" + number.to_bytes(self.id_size, "big"))
        which = "key" if self.side == "key" else "value"
        headers: list[RawHeader] = [(self.header, number.to_bytes(8, "big"))]
        if encoding:
            headers.append((f"apicurio.{which}.encoding", encoding.encode()))
        return Wire(b"", tuple(headers))


def generation_of(options: Options) -> Generation:
    """Return the generation of the converter that the options are for."""
    path = urlsplit(options.needed("apicurio.registry.url")).path
    if "/registry/v2" in path:
        return 2
    if "/registry/v3" in path:
        return 3
    return 2 if options.emulation.version == DEBEZIUM_2_3_4.version else 3


def apicurio_registry(options: Options) -> Registry:
    """Return the registry that the options name. Raises OptionError."""
    url = options.needed("apicurio.registry.url").rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise OptionError("Invalid value for configuration apicurio.registry.url: Write a URL of http or https")
    generation = generation_of(options)
    if "/apis/" not in urlsplit(url).path:
        url = f"{url}/apis/registry/v{generation}"
    user, password = _auth(options, "username"), _auth(options, "password")
    host, port = options.text("apicurio.registry.proxy.host"), options.number("apicurio.registry.proxy.port")
    endpoint = _endpoint(options)
    if user and not password and endpoint is None:
        raise OptionError("Missing registry auth password, set apicurio.registry.auth.password")
    return Registry(
        RegistrySettings(
            "apicurio-v2" if generation == 2 else "apicurio-v3",
            (url,),
            user_info=f"{user}:{password}" if user else "",
            token_endpoint=endpoint,
            ssl=_tls(options),
            headers=tuple(options.under(_REQUEST_HEADER).items()),
            proxy=f"http://{host}:{port}" if host and port > 0 else "",
            retries=options.number("apicurio.registry.retry-count"),
            retry_ms=options.number("apicurio.registry.retry-backoff-ms"),
        )
    )


def _auth(options: Options, name: str) -> str:
    return options.text(f"apicurio.registry.auth.{name}") or options.text(f"apicurio.auth.{name}") or ""


def _endpoint(options: Options) -> TokenEndpoint | None:
    url = _auth(options, "service.token.endpoint")
    if not url and (keycloak := options.text("apicurio.auth.service.url")):
        realm = options.text("apicurio.auth.realm")
        if not realm:
            raise OptionError("Missing registry auth realm, set apicurio.auth.realm")
        url = f"{keycloak}/realms/{realm}/protocol/openid-connect/token"
    if not url:
        return None
    client, secret = _auth(options, "client.id"), _auth(options, "client.secret")
    if not client:
        raise OptionError("Missing registry auth clientId, set apicurio.registry.auth.client.id")
    if not secret:
        raise OptionError("Missing registry auth secret, set apicurio.registry.auth.client.secret")
    return TokenEndpoint(url, client, secret, _auth(options, "client.scope"))


def _tls(options: Options) -> tuple[tuple[str, str], ...]:
    """Kafka's names for Apicurio's options."""
    found = {f"ssl.{part}": options.raw[prefix + part] for prefix in TLS_PREFIXES for part in TLS_PARTS if prefix + part in options}
    if certificates := options.text("apicurio.registry.tls.certificates"):
        found |= {"ssl.truststore.location": certificates, "ssl.truststore.type": "PEM"}
    if not options.flag("apicurio.registry.tls.verify-host"):
        found["ssl.endpoint.identification.algorithm"] = ""
    return tuple(found.items())


def _choice(options: Options, name: str, known: tuple[str, ...]) -> str:
    """Return the option's value, which is among ``known``; without one the first of them."""
    value = options.text(f"apicurio.registry.{name}") or known[0]
    if value not in known:
        raise OptionError(f"Invalid value {value} for configuration apicurio.registry.{name}: Use one of {', '.join(known)}")
    return value


def _flag(options: Options, name: str, *, default: bool) -> bool:
    return options.flag(f"apicurio.registry.{name}") if options.text(f"apicurio.registry.{name}") is not None else default
