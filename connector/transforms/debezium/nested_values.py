"""Changing the values of some schemas wherever they are in a record's value: in structs, and where asked for in arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from connector.record.schema import Schema

Change = Callable[[Any], Any]
"""Makes a new value of one that is not null."""


def nested_change(schema: Schema, wanted: Callable[[Schema], Change | None], *, arrays: bool) -> Change | None:
    """Return what changes the values of ``wanted`` schemas within values of this one; None where there are none."""
    own = wanted(schema)
    if own is not None:
        return own
    if schema.type == "array" and arrays and schema.items is not None:
        item = nested_change(schema.items, wanted, arrays=arrays)
        return None if item is None else lambda value: [None if each is None else item(each) for each in value]
    if schema.type != "struct":
        return None
    by_field = ((field.name, nested_change(field.schema, wanted, arrays=arrays)) for field in schema.fields)
    changes = {name: change for name, change in by_field if change is not None}
    if not changes:
        return None

    def changed(value: Any) -> Any:
        return {**value, **{name: change(value[name]) for name, change in changes.items() if value[name] is not None}}

    return changed
