"""Changing the values of some schemas wherever they are in a record's value: in structs, and where asked for in arrays and maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from connector.record.schema import Schema
from connector.transforms.debezium.envelope import filled, with_defaults

Change = Callable[[Any], Any]
"""Makes a new value of one that is not null."""


def nested_change(schema: Schema, wanted: Callable[[Schema], Change | None], *, members: bool = False) -> Change | None:
    """Return what changes the values of ``wanted`` schemas within structs of this schema; None where nothing can change.

    Nulls in the structs that it goes through become the defaults of their fields. ``members``: it goes through arrays and maps too. The
    struct itself stays even if its schema is wanted.
    """
    return _of_struct(schema, wanted, members=members)


def _of_value(schema: Schema, wanted: Callable[[Schema], Change | None], *, members: bool) -> Change | None:
    own = wanted(schema)
    if own is not None:
        return own
    match schema.type:
        case "struct":
            return _of_struct(schema, wanted, members=members)
        case "array" if members and schema.items is not None:
            item = _of_value(schema.items, wanted, members=members)
            return None if item is None else lambda value: [None if each is None else item(each) for each in value]
        case "map" if members and schema.values is not None:
            held = _of_value(schema.values, wanted, members=members)
            return None if held is None else lambda value: {key: None if each is None else held(each) for key, each in value.items()}
    return None


def _of_struct(schema: Schema, wanted: Callable[[Schema], Change | None], *, members: bool) -> Change | None:
    defaults = with_defaults(schema)
    by_field = ((field.name, _of_value(field.schema, wanted, members=members)) for field in schema.fields)
    changes = {name: change for name, change in by_field if change is not None}
    if not changes and not defaults:
        return None

    def changed(value: Any) -> Any:
        out = filled(value, defaults)
        for name, change in changes.items():
            if out[name] is not None:
                out[name] = change(out[name])
        return out

    return changed
