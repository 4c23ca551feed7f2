"""What this project's converters make of records, and what they ask a registry that takes everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, cast

from connector.converters.catalog import make_converter, make_header_converter
from connector.converters.converter import Converter, ConverterChoice, SchemaNeededError, SchemaRequest
from connector.converters.registry import RegisteredSchema, Registry, SchemaAsk
from connector.emulation import DEFAULT
from connector.errors import CdcError
from connector.plugins.allowed import NO_PLUGINS
from connector.record.connect_record import DataError, Header
from connector.record.schema import Schema
from tests.differential.converters.areas import Choice
from tests.differential.converters.events import header_bytes

TOPIC: Final = "server.public.t"


@dataclass(slots=True)
class RecordingRegistry:
    """Numbers what it is asked to register from 1, equal contents alike, as the mock of Confluent's client does."""

    registered: list[dict[str, Any]] = field(default_factory=list)

    def learn(self, registry: Registry, request: SchemaRequest) -> None:
        """Register what the request asks for, its references first, and give the registry the answer."""
        ask = request.ask
        assert isinstance(ask, SchemaAsk)
        for each in ask.references:
            self._register(each.request)
        registry.learn(request, RegisteredSchema(self._register(request)))

    def _register(self, request: SchemaRequest) -> int:
        ask = request.ask
        assert isinstance(ask, SchemaAsk)
        references = [[each.name, each.request.subject] for each in ask.references]
        content = {"type": ask.type, "text": ask.text, "references": references}
        known = [each["id"] for each in self.registered if {name: each[name] for name in content} == content]
        number: int = known[0] if known else 1 + max((each["id"] for each in self.registered), default=0)
        new = {"subject": request.subject, "id": number, **content}
        if new not in self.registered:
            self.registered.append(new)
        return number


def own_answer(
    choice: Choice, records: list[tuple[Schema | None, Any]], headers: tuple[Header, ...] = (), scope: str = "r"
) -> dict[str, Any]:
    """Return the answer in the form of the Java program's, with exceptions as ``error``. ``scope`` names the registry."""
    named = ConverterChoice(choice.name, choice.with_registry(f"http://{scope}"))
    registry = RecordingRegistry()
    try:
        if choice.side == "header":
            header_converter = make_header_converter(named, DEFAULT, NO_PLUGINS)
            answers: list[dict[str, Any]] = []
            for schema, value in records:
                try:
                    answers.append({"bytes": header_converter.convert(TOPIC, "name", schema, value), "headers": []})
                except DataError as problem:
                    answers.append({"error": str(problem)})
                except Exception as problem:  # noqa: BLE001 - what no caller expects is a finding
                    answers.append({"crash": repr(problem)})
            return {"answers": answers}
        converter = make_converter(named, choice.side, DEFAULT, NO_PLUGINS)
    except CdcError as problem:
        return {"refused": str(problem)}
    answers = [_converted(converter, registry, schema, value, headers) for schema, value in records]
    return {"answers": answers, "registered": registry.registered}


def _converted(
    converter: Converter, registry: RecordingRegistry, schema: Schema | None, value: Any, headers: tuple[Header, ...]
) -> dict[str, Any]:
    while True:
        try:
            found = converter.convert(TOPIC, schema, value, headers)
        except SchemaNeededError as needed:
            registry.learn(cast("Registry", needed.registry), needed.request)
            continue
        except DataError as problem:
            return {"error": str(problem)}
        except Exception as problem:  # noqa: BLE001 - what no caller expects is a finding
            return {"crash": repr(problem)}
        sent = [*((header.name, header_bytes(header)) for header in headers), *found.headers]
        return {"bytes": None if found.payload is None else found.prefix + found.payload, "headers": sent}
