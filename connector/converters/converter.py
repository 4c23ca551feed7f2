"""What a converter is (``org.apache.kafka.connect.storage.Converter``, ``HeaderConverter``), and how one is described."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.record.connect_record import Header
from connector.record.schema import Schema

RawHeader = tuple[str, bytes | None]
Side = Literal["key", "value", "header"]


@dataclass(frozen=True, slots=True)
class SchemaRequest:
    """What must be asked of a schema registry before a record can be converted. ``ask`` is known to the registry's client alone."""

    subject: str
    ask: object


class SchemaNeededError(Exception):
    """A schema registry must answer ``request`` before the value can be converted; try again afterwards."""

    def __init__(self, registry: object, request: SchemaRequest) -> None:
        super().__init__(request.subject)
        self.registry = registry
        self.request = request


@dataclass(slots=True)
class Converted:
    """The bytes of a key or value. ``prefix`` is constant for a schema (kept apart, it is joined once per batch); None is null.

    ``headers`` are headers that the converter itself adds.
    """

    payload: bytes | None
    prefix: bytes = b""
    headers: Sequence[RawHeader] = ()


class Converter(Protocol):
    """Converts keys, or values, of one connector."""

    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:
        """Return the bytes. ``headers`` are the record's. Raises DataError; SchemaNeededError."""


class HeaderConverter(Protocol):
    """Converts the headers of one connector."""

    def convert(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes. Raises DataError."""


@dataclass(frozen=True, slots=True)
class ConverterDefinition:
    """A converter's class name, its properties as its ``ConfigDef`` lists them, and how it is made. ``make`` raises OptionError."""

    name: str
    keys: tuple[Key, ...]
    make: Callable[[Options, Side], Converter]


@dataclass(frozen=True, slots=True)
class DelegatingDefinition:
    """The same for a converter that uses others: ``delegates`` names them, and ``make`` is given them in this order.

    ``delegates`` and ``make`` raise OptionError.
    """

    name: str
    keys: tuple[Key, ...]
    delegates: Callable[[Options, Side], tuple[ConverterChoice, ...]]
    make: Callable[[Options, Side, Sequence[Converter]], Converter]


@dataclass(frozen=True, slots=True)
class HeaderConverterDefinition:
    """The same for headers."""

    name: str
    keys: tuple[Key, ...]
    make: Callable[[Options], HeaderConverter]


@dataclass(frozen=True, slots=True)
class ConverterChoice:
    """A converter that a configuration chooses: its class, as the configuration names it, and its options without their prefix."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
