"""A value that is put into a field of another schema: whether it fits is checked as ``Struct.put`` does, by its type and not its schema."""

from __future__ import annotations

from typing import Any, Final

from connector.record.connect_record import DataError
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, DECIMAL, Schema

_TEMPORAL: Final = (CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP)
_DAY_MS: Final = 86_400_000


def moved(source: Schema, target: Schema, value: Any, name: str) -> Any:
    """Return a value of ``source`` as one of ``target``. Raises DataError, which names the field, where it is of another type or null."""
    if source == target:
        return value
    if value is None:
        if target.optional:
            return None
        raise DataError(f'Invalid value: null used for required field: "{name}", schema type: {target.type.upper()}')
    if _kind(source) != _kind(target) or target.type == "struct":
        raise DataError(f'A value of type {source.name or source.type} does not fit field "{name}" of type {target.name or target.type}')
    if target.name in _TEMPORAL:
        return value if source.name == target.name else _time(source, target, value, name)
    if source.items is not None and target.items is not None:
        return [moved(source.items, target.items, each, name) for each in value]
    if source.keys is not None and source.values is not None and target.keys is not None and target.values is not None:
        keys = [moved(source.keys, target.keys, each, name) for each in value]
        values = [moved(source.values, target.values, each, name) for each in value.values()]
        return dict(zip(keys, values, strict=True))
    return value


def _kind(schema: Schema) -> str:
    """Return what two schemas have in common whose values are of one type."""
    if schema.name in _TEMPORAL:
        return "time"
    # A decimal of another scale fails in the converter.
    return f"{DECIMAL} {dict(schema.parameters).get('scale')}" if schema.name == DECIMAL else schema.type


def _time(source: Schema, target: Schema, value: int, name: str) -> int:
    """Return a time as another of Connect's types writes it."""
    ms = value * _DAY_MS if source.name == CONNECT_DATE else value
    days, rest = divmod(ms, _DAY_MS)
    if (target.name == CONNECT_DATE and rest) or (target.name == CONNECT_TIME and days):
        raise DataError(f'A value of type {source.name} does not fit field "{name}" of type {target.name}')
    return days if target.name == CONNECT_DATE else ms
