"""Building blocks of JSON Schema (2020-12) for the answers of :mod:`connect_api.models` and for the bodies of requests.

A schema stands beside the function that writes or reads the JSON. Its title is its name on the OpenAPI page.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

Schema = Mapping[str, Any]

TEXT: Final[Schema] = {"type": "string"}
TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
WHOLE: Final[Schema] = {"type": "integer"}
BOOLEAN: Final[Schema] = {"type": "boolean"}


def words(literal: object) -> Schema:
    """A string that is one of a Literal's values."""
    return one_of(get_args(literal))


def one_of(values: Collection[str]) -> Schema:
    """A string that is one of ``values``."""
    return {"type": "string", "enum": [*values]}


def array(items: Schema) -> Schema:
    """An array of any length."""
    return {"type": "array", "items": items}


def mapping(values: Schema, **limits: int) -> Schema:
    """An object with members of any name. ``limits`` are ``minProperties`` and the like."""
    return {"type": "object", "additionalProperties": values, **limits}


def closed(title: str, members: Mapping[str, Schema], *, optional: Collection[str] = ()) -> Schema:
    """An object with these members and no others. All are required except the optional ones."""
    return {
        "title": title,
        "type": "object",
        "properties": {**members},
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def or_null(schema: Schema) -> Schema:
    """``schema`` or null."""
    return {"anyOf": [schema, {"type": "null"}]}
