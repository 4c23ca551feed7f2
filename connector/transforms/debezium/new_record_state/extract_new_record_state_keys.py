"""The options of ``ExtractNewRecordState``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from connector.configdef.key import SINCE_3, UNTIL_2, VERSIONS, Importance, Key, Settings, Type, Width

MODES: Final = ("drop", "tombstone", "rewrite-with-tombstone", "rewrite", "delete-to-tombstone")
"""Values of ``delete.tombstone.handling.mode``."""
DELETE_MODES: Final = ("drop", "rewrite", "none")
"""Values of the former ``delete.handling.mode``."""


def _one_of_modes(_key: Key, value: str | None, _settings: Settings) -> Iterator[str]:
    """Require one of :data:`MODES` in any case. The answer names the option without the transform's prefix, as recorded."""
    if value is None or value.strip().lower() not in MODES:
        name = "delete.tombstone.handling.mode"
        yield f"Invalid value {value} for configuration {name}: Value must be one of {', '.join(MODES)}"


def option(
    name: str,
    kind: Type,
    default: str | None,
    importance: Importance,
    width: Width,
    display: str,
    doc: str,
    versions: tuple[str, ...] = VERSIONS,
    **more: Any,
) -> Key:
    """Return one row. Debezium's transforms without groups report the place 1 for each of their options."""
    settings: Mapping[str, Any] = {"fixed_order": 1, **more}
    return Key(name, kind, default, importance, display, doc, width=width, versions=versions, framework=True, **settings)


def _route_by_field(versions: tuple[str, ...]) -> Key:
    return option("route.by.field", "STRING", "", "LOW", "LONG", "Route by field name", "Column whose value becomes the topic.", versions)


KEYS: Final = (
    option(
        "drop.tombstones",
        "BOOLEAN",
        "true",
        "LOW",
        "SHORT",
        "Drop tombstones",
        "Whether the tombstones after deletes are dropped.",
        UNTIL_2,
    ),
    option(
        "delete.handling.mode",
        "STRING",
        "drop",
        "MEDIUM",
        "MEDIUM",
        "Handle delete records",
        "What stands for a deleted row: drop sends nothing, rewrite sends the row as it was with __deleted true, none sends a null value.",
        UNTIL_2,
    ),
    option(
        "delete.tombstone.handling.mode",
        "STRING",
        "tombstone",
        "MEDIUM",
        "MEDIUM",
        "Handle delete and tombstone records",
        "What stands for a deleted row: drop sends nothing, tombstone a null value, rewrite the row as it was with __deleted true, "
        "rewrite-with-tombstone this and then a tombstone, delete-to-tombstone a null value without a schema.",
        SINCE_3,
        validators=(_one_of_modes,),
    ),
    _route_by_field(SINCE_3),
    option(
        "add.fields.prefix",
        "STRING",
        "__",
        "LOW",
        "SHORT",
        "Field prefix to be added to each field.",
        "Begins the names of added fields.",
        SINCE_3,
    ),
    option(
        "add.fields",
        "LIST",
        "",
        "LOW",
        "LONG",
        "Adds the specified field(s) to the message if they exist.",
        "Fields of the event that the row gets, for example op,source.ts_ms:CHANGED; a name after a colon takes the place of the field's.",
    ),
    option(
        "add.headers.prefix",
        "STRING",
        "__",
        "LOW",
        "SHORT",
        "Header prefix to be added to each header.",
        "Begins the names of added headers.",
        SINCE_3,
    ),
    option(
        "add.headers",
        "LIST",
        "",
        "LOW",
        "LONG",
        "Adds the specified fields to the header if they exist.",
        "Fields of the event that become headers, written as in add.fields.",
    ),
    option(
        "drop.fields.header.name",
        "STRING",
        None,
        "LOW",
        "SHORT",
        "Specifies a header that contains a list of field names to be removed",
        "Header whose list names the columns that are removed from the row.",
        SINCE_3,
    ),
    option(
        "drop.fields.from.key",
        "BOOLEAN",
        "false",
        "LOW",
        "SHORT",
        "Specifies whether the fields to be dropped should also be omitted from the key",
        "Whether they are removed from the key too.",
        SINCE_3,
    ),
    option(
        "drop.fields.keep.schema.compatible",
        "BOOLEAN",
        "true",
        "LOW",
        "SHORT",
        "Specifies if fields are dropped, will the event's schemas be compatible",
        "Whether required columns stay, so that the schema remains compatible.",
        SINCE_3,
    ),
    # Version 2.3.4 lists it last.
    _route_by_field(UNTIL_2),
)
