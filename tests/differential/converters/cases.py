"""Random cases of conversions, and whether the original's answer to one differs from this project's."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from connector.record.connect_record import Header
from connector.record.schema import BYTES, DECIMAL, STRING, Schema
from tests.differential.converters.areas import AREAS, Choice
from tests.differential.converters.comparison import difference
from tests.differential.converters.events import Events, header_bytes
from tests.differential.converters.java_form import java_schema, java_value
from tests.differential.converters.numbers import Floats
from tests.differential.converters.own import TOPIC, own_answer
from tests.differential.converters.schemas import Schemas
from tests.differential.converters.values import Values


@dataclass(frozen=True, slots=True)
class Case:
    """One converter, and the records that it gets one after the other."""

    number: int
    choice: Choice
    records: list[tuple[Schema | None, Any]]
    misfit: Schema | None = None
    """The schema of the last record's value, where that is not the record's."""
    headers: tuple[Header, ...] = ()

    @property
    def scope(self) -> str:
        """The name of the case's registry."""
        return f"case-{self.number:07}"

    def request(self) -> dict[str, Any]:
        """Return the case for the JVM, each with a registry of its own."""
        options = self.choice.with_registry(f"mock://{self.scope}")
        headers = [[header.name, b64encode(header_bytes(header)).decode()] for header in self.headers]
        records = [
            {"schema": java_schema(schema), "value": self._java_value(schema, value), "headers": headers} for schema, value in self.records
        ]
        if self.misfit is not None:
            records[-1]["value"] = self._java_value(self.misfit, self.records[-1][1])
        request = {"do": "convert", "class": self.choice.name, "side": self.choice.side, "options": options, "topic": TOPIC}
        return {**request, "records": records, **({"scope": self.scope} if self.choice.has_registry else {})}

    def single(self) -> list[Case]:
        """Return a case of each record alone."""
        last = len(self.records) - 1
        return [replace(self, records=[record], misfit=self.misfit if place == last else None) for place, record in enumerate(self.records)]

    def _java_value(self, schema: Schema | None, value: Any) -> Any:
        return java_value(schema, value, self.choice.bytes_as, small_ints=self.choice.small_ints)


def make_case(area: str, seed: int, number: int, floats: Floats) -> Case:
    """Return a case; the same for the same arguments."""
    random = Random(f"{area} {seed} {number}")
    choice = AREAS[area](random)
    values = Values(random, floats)
    schemas = Schemas(random, values, choice.style)
    records: list[tuple[Schema | None, Any]] = []
    if choice.events:
        events = Events(random, schemas, values)
        records += events.events()
        if random.random() < 0.1:
            records.append((STRING.as_optional(), values.value(STRING)))
        return Case(number, choice, records, headers=events.headers())
    for _ in range(random.choice((1, 2))):
        if random.random() < 0.1:
            records.append((None, values.plain()))
            continue
        schema = schemas.schema()
        records += [(schema, values.value(schema)) for _ in range(random.choice((1, 2, 3)))]
    misfit = None
    if random.random() < 0.08:
        schema, misfit = schemas.schema(1), random.choice((STRING, BYTES))
        if schema.type == misfit.type and schema.name != DECIMAL:
            misfit = BYTES if misfit is STRING else STRING
        # For Python bytes are a list, and all values are true or false.
        fits = schema.type in ("array", "boolean") or (schema.type == "struct" and not schema.fields)
        records.append((schema, None if fits or random.random() < 0.4 else values.value(misfit) or ("x" if misfit is STRING else b"x")))
    return Case(number, choice, records, misfit)


def compared(case: Case, answer: dict[str, Any]) -> str | None:
    """Return what differs, or None."""
    values = [value for _, value in case.records]
    return difference(values, own_answer(case.choice, case.records, case.headers, case.scope), answer)
