"""Representation of values and filters of events, in the group ``Connector``: the rows before and after those of snapshots."""

from __future__ import annotations

from typing import Final

from connector.configdef.key import SINCE_3, Key
from connector.configdef.validators import (
    boolean,
    conflicts_with,
    integer,
    non_negative_integer,
    regexes,
)

NUMBERS_AND_TIMES: Final[tuple[Key, ...]] = (
    Key(
        "decimal.handling.mode",
        "STRING",
        "precise",
        "MEDIUM",
        "Decimal Handling",
        "Form of numeric, decimal and money values: exact bytes (precise), a floating point number (double) or text (string).",
        width="SHORT",
        choices=("string", "double", "precise"),
    ),
    Key(
        "time.precision.mode",
        "STRING",
        "adaptive",
        "MEDIUM",
        "Time Precision",
        (
            "Form of dates and times: as precise as the column (adaptive, adaptive_time_microseconds), Connect's own types in "
            "milliseconds (connect), a fixed unit, or ISO 8601 text (isostring)."
        ),
        width="SHORT",
        choices=("adaptive", "adaptive_time_microseconds", "isostring", "microseconds", "nanoseconds", "connect"),
        choices_until_2=("adaptive", "adaptive_time_microseconds", "connect"),
    ),
)

OTHER_VALUES: Final[tuple[Key, ...]] = (
    Key(
        "hstore.handling.mode",
        "STRING",
        "json",
        "LOW",
        "HStore Handling",
        "Form of hstore values: JSON text (json) or a map (map).",
        width="MEDIUM",
        choices=("json", "map"),
    ),
    Key(
        "binary.handling.mode",
        "STRING",
        "bytes",
        "LOW",
        "Binary Handling",
        "Form of bytea values: bytes, or text in base64, URL-safe base64 or hex.",
        width="MEDIUM",
        choices=("bytes", "base64", "hex", "base64-url-safe"),
    ),
    Key(
        "schema.name.adjustment.mode",
        "STRING",
        "none",
        "LOW",
        "Schema Name Adjustment",
        "Whether characters that Avro forbids are replaced in schema names.",
        width="MEDIUM",
        choices=("none", "avro_unicode", "avro"),
    ),
    Key(
        "interval.handling.mode",
        "STRING",
        "numeric",
        "LOW",
        "Interval Handling",
        "Form of interval values: microseconds (numeric) or ISO 8601 text (string).",
        width="MEDIUM",
        choices=("string", "numeric"),
    ),
    Key(
        "schema.refresh.mode",
        "STRING",
        "columns_diff",
        "MEDIUM",
        "Schema refresh mode",
        (
            "When a table's structure is read again: at any difference, or not for columns that are merely absent because they "
            "did not change."
        ),
        width="SHORT",
        choices=("columns_diff", "columns_diff_exclude_unchanged_toast"),
        support="ignored",
        reason="The connector notices each change of a table's structure in the stream",
    ),
    Key(
        "incremental.snapshot.chunk.size",
        "INT",
        "1024",
        "MEDIUM",
        "Incremental snapshot chunk size",
        "Rows per chunk of an incremental snapshot.",
        width="MEDIUM",
        validators=(integer, non_negative_integer),
    ),
    Key(
        "unavailable.value.placeholder",
        "STRING",
        "__debezium_unavailable_value",
        "MEDIUM",
        "Unavailable value placeholder",
        "Stands for a large value that the server did not send because it did not change; `hex:` begins raw bytes.",
        width="MEDIUM",
    ),
    Key(
        "message.prefix.include.list",
        "LIST",
        None,
        "MEDIUM",
        "Include Logical Decoding Message Prefixes",
        "Regular expressions of the logical messages (pg_logical_emit_message) to capture, by prefix.",
        width="LONG",
        validators=(regexes,),
        regexes=True,
    ),
    Key(
        "message.prefix.exclude.list",
        "LIST",
        None,
        "MEDIUM",
        "Exclude Logical Decoding Message Prefixes",
        "Regular expressions of the logical messages to leave out, by prefix.",
        width="LONG",
        validators=(conflicts_with("message.prefix.include.list", "logical_decoding_message.prefix.include.list"), regexes),
        regexes=True,
    ),
    Key(
        "publish.via.partition.root",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Publish via partition root",
        "Publish changes of partitions under the name of the partitioned table.",
        width="SHORT",
        validators=(boolean, boolean),
        versions=SINCE_3,
        unknown_until_2=True,
    ),
)
