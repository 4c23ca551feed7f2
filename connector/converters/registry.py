"""What a converter and the client of a schema registry share: how the registry is reached, what is asked of it, and what it answered.

A converter does no I/O. It asks :meth:`Registry.schema`, which raises SchemaNeededError for a schema that the registry was not asked for.
Whoever catches it has the client ask (:mod:`connector.io.registry`), and converts the record again.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from connector.converters.converter import RawHeader, SchemaNeededError, SchemaRequest

Api = Literal["confluent", "apicurio-v2", "apicurio-v3"]
SchemaType = Literal["AVRO", "JSON", "PROTOBUF", "KCONNECT"]
Action = Literal["register", "look up", "latest", "by id"]


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """Where a token is fetched with a client's credentials (RFC 6749, 4.4)."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    buffer_seconds: int = 300
    """How long before its end a token is fetched again, but not before half of its life is over."""


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """How a registry is reached. Times are in ms; ``ssl`` are Kafka's properties ``ssl.*``; ``headers`` go with each request."""

    api: Api
    urls: tuple[str, ...]
    user_info: str = field(default="", repr=False)
    """``user:password``; without it, what a URL holds."""
    login_module: str = field(default="", repr=False)
    """Value of ``sasl.jaas.config`` whose user and password are sent (SASL_INHERIT)."""
    token: str = field(default="", repr=False)
    token_endpoint: TokenEndpoint | None = None
    ssl: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    proxy: str = ""
    connect_ms: int = 60_000
    read_ms: int = 60_000
    retries: int = 3
    retry_ms: int = 1_000
    retry_most_ms: int = 20_000


@dataclass(frozen=True, slots=True)
class SchemaAsk:
    """What is asked about a subject. ``text`` is the schema as it is registered.

    ``references`` are schemas that this one names; they are registered before it. ``group``, ``if_exists`` and ``version`` are Apicurio's.
    """

    action: Action
    type: SchemaType
    text: str = field(default="", repr=False)
    references: tuple[Reference, ...] = ()
    normalize: bool = False
    schema_id: int = -1
    group: str = "default"
    if_exists: str = "FIND_OR_CREATE_VERSION"
    version: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one refers to by ``name``."""

    name: str
    request: SchemaRequest


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """The registry's answer. ``id`` is Confluent's id, which is Apicurio's contentId; ``text`` is set where the schema was not known.

    ``group`` is as Apicurio tells it: empty for the default group.
    """

    id: int
    global_id: int = -1
    guid: str = ""
    text: str | None = field(default=None, repr=False)
    version: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Wire:
    """What goes before a value of one schema, and the headers that go with it."""

    prefix: bytes
    headers: tuple[RawHeader, ...] = ()


class Registry:
    """One registry, and what it answered so far. What is known is not asked again until it is forgotten.

    ``newest_seconds`` is how long an answer about a subject's newest schema serves; a negative number means for ever. Who asks the registry
    keeps the time, and calls :meth:`forget_newest`.
    """

    __slots__ = ("_forgot", "_known", "newest_seconds", "settings")

    def __init__(self, settings: RegistrySettings, newest_seconds: int = -1) -> None:
        self.settings = settings
        self.newest_seconds = newest_seconds
        self._known: dict[Hashable, RegisteredSchema] = {}
        self._forgot = False

    def schema(self, request: SchemaRequest) -> RegisteredSchema:
        """Return the answer. Raises SchemaNeededError until :meth:`learn` was given one."""
        known = self._known.get(self._place(request))
        if known is None:
            raise SchemaNeededError(self, request)
        return known

    def learn(self, request: SchemaRequest, answer: RegisteredSchema) -> None:
        """Remember the registry's answer to ``request``."""
        self._known[self._place(request)] = answer

    def forget_newest(self) -> None:
        """Forget the answers about newest schemas."""
        self._forgot = True
        self._known = {place: answer for place, answer in self._known.items() if not is_newest(place)}

    def forgot(self) -> bool:
        """Whether answers were forgotten since the last call: what was made of them must be made again."""
        forgot, self._forgot = self._forgot, False
        return forgot

    def _place(self, request: SchemaRequest) -> Hashable:
        """Where the answer to ``request`` is kept.

        Apicurio's converters know what they registered by its content alone: a topic whose schema equals that of an earlier topic gets no
        artifact of its own (recorded: ``avro-outbox``).
        """
        ask = request.ask
        by_content = self.settings.api != "confluent" and isinstance(ask, SchemaAsk) and ask.action == "register"
        return ask if by_content else request


def is_newest(place: object) -> bool:
    """Whether a request, or what it asks, is about the newest schema of a subject."""
    ask = place.ask if isinstance(place, SchemaRequest) else place
    return isinstance(ask, SchemaAsk) and ask.action == "latest"
