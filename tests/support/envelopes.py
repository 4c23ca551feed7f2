"""Change events as values of their schemas."""

from __future__ import annotations

from typing import Any

from connector.emulation import Emulation
from connector.events.envelope import event_form
from connector.record.schema import Schema


def source_of(emulation: Emulation) -> dict[str, Any]:
    """The source of an event of table ``public.t``."""
    names = [field.name for field in event_form(emulation).source.fields]
    known = {
        "version": emulation.version,
        "connector": "postgresql",
        "name": "p",
        "ts_ms": 5,
        "snapshot": None,
        "db": "d",
        "schema": "public",
    }
    return dict.fromkeys(names) | {name: value for name, value in known.items() if name in names} | {"table": "t", "lsn": 77}


def event_of(schema: Schema, emulation: Emulation, **members: Any) -> dict[str, Any]:
    """An event of this envelope; all members that are not given are null."""
    return {**dict.fromkeys(field.name for field in schema.fields), "source": source_of(emulation), **members}
