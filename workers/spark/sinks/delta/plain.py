"""Whether a Delta table has only what this package's own commits respect. Pure.

Table features, properties and the metadata of columns are in Delta's protocol,
https://github.com/delta-io/delta/blob/master/PROTOCOL.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql.types import StructType

from workers.spark.sinks.delta.readers import refused_table
from workers.spark.tables.table import Table

_FEATURES: Final = {"appendOnly", "invariants", "columnMapping", "deletionVectors", "typeWidening", "timestampNtz"}
"""The table features for which a commit of files and deletion vectors is complete."""
_SETTINGS: Final = {
    "delta.columnMapping.mode",
    "delta.columnMapping.maxColumnId",
    "delta.enableDeletionVectors",
    "delta.enableTypeWidening",
    "delta.checkpointPolicy",
    "delta.checkpointInterval",
    "delta.logRetentionDuration",
    "delta.deletedFileRetentionDuration",
}
"""The table properties that a commit of this package respects."""
_FIELDS: Final = {"delta.columnMapping.id", "delta.columnMapping.physicalName", "delta.typeChanges"}
"""The properties of a column that a commit of this package respects. Others are constraints or generated values."""
_READER, _WRITER = 1, 2
"""The highest versions of the protocol whose features have no names, and are those of :data:`_FEATURES` without a name."""


def is_plain(metadata: Mapping[str, Any], protocol: Mapping[str, Any], table: Table, readers: str, path: str) -> bool:
    """Whether a commit of this package is right for a table with this metadata and protocol, in the folder ``path``. Pure."""
    features = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
    if "writerFeatures" not in protocol and (protocol["minReaderVersion"] > _READER or protocol["minWriterVersion"] > _WRITER):
        return False
    # The sink has a message for tables that are not for its readers.
    if features - _FEATURES or refused_table(readers, table, path, features, changes=False) is not None:
        return False
    if metadata.get("partitionColumns") or {*metadata["configuration"]} - _SETTINGS:
        return False
    fields = StructType.fromJson(json.loads(metadata["schemaString"])).fields
    return all(field.nullable and not {*field.metadata} - _FIELDS for field in fields)
