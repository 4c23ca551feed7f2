"""The kind of a Connect schema: Debezium documentation, "Data type mappings"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workers.spark.types.arrays import array
from workers.spark.types.documents import OPAQUE, bits, document, text_map
from workers.spark.types.kind import UNAVAILABLE, Builder, Kind, Placeholder, Schema, fixed
from workers.spark.types.scalars import PLAIN, VARIABLE_DECIMAL, decimal
from workers.spark.types.shapes import NAMED as SHAPES
from workers.spark.types.temporal import ELEMENTS
from workers.spark.types.temporal import NAMED as TEMPORAL

_NAMED: Final[dict[str, Builder]] = {
    **TEMPORAL,
    **SHAPES,
    "org.apache.kafka.connect.data.Decimal": decimal,
    "io.debezium.data.VariableScaleDecimal": fixed(VARIABLE_DECIMAL),
    "io.debezium.data.Json": document,
    "io.debezium.data.Bits": bits,
}


def kind_of(schema: Schema, placeholder: str = UNAVAILABLE) -> Kind:
    """The kind for a Connect schema as JsonConverter writes it. Types without a rule of their own become JSON text.

    ``placeholder`` is the connector's ``unavailable.value.placeholder``, with its ``hex:`` if it has that.
    Raises ValueError for a schema whose type Connect does not have, and for a placeholder with broken hex digits.
    """
    return _kind(schema, Placeholder.of(placeholder), _NAMED)


def _kind(schema: Schema, placeholder: Placeholder, named: Mapping[str, Builder]) -> Kind:
    builder = named.get(str(schema.get("name")))
    if builder is not None:
        return builder(schema, placeholder)
    match schema.get("type"):
        case "array":
            return array(_kind(_part(schema, "items"), placeholder, {**_NAMED, **ELEMENTS}), placeholder)
        case "map":
            text = all(_part(schema, part).get("type") == "string" for part in ("keys", "values") if part in schema)
            return text_map(schema, placeholder) if text else OPAQUE
        case "struct":
            return OPAQUE
        case str(name) if name in PLAIN:
            return PLAIN[name](schema, placeholder)
        case other:
            raise ValueError(f"{other!r} is no Connect type")


def _part(schema: Schema, name: str) -> Schema:
    part = schema.get(name)
    return part if isinstance(part, Mapping) else {}
