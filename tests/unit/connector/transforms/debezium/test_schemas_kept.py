"""Records of one schema give records of one schema, the same object: encoders are found by it. And no record is changed in place."""

from __future__ import annotations

from typing import Any

import pytest

from connector.configdef.options import Options
from connector.transforms.debezium.by_logical_table_router import DEFINITIONS as ROUTER
from connector.transforms.debezium.new_record_state.extract_new_record_state import DEFINITIONS as UNWRAP
from connector.transforms.debezium.outbox.event_router import DEFINITIONS as OUTBOX
from connector.transforms.transform import TransformDefinition
from tests.support.debezium_cases import DELETE, UPDATE, with_list
from tests.support.debezium_outbox_cases import ENVELOPED, EXPAND, INSERT
from tests.support.java_records import reported

REWRITE = {
    "delete.tombstone.handling.mode": "rewrite",
    "add.fields": "op",
    "drop.fields.header.name": "drop",
    "drop.fields.from.key": "true",
}


@pytest.mark.parametrize(
    ("definition", "options", "record"),
    [
        (UNWRAP[0], {}, UPDATE),
        (UNWRAP[0], REWRITE, with_list(DELETE, "v")),
        (UNWRAP[0], {**REWRITE, "drop.fields.keep.schema.compatible": "false"}, with_list(UPDATE, "id")),
        (ROUTER[0], {"topic.regex": ".*", "topic.replacement": "x"}, UPDATE),
        (OUTBOX[0], {}, INSERT),
        (OUTBOX[0], {**EXPAND, **ENVELOPED}, INSERT),
    ],
)
def test_a_schema_is_made_once(definition: TransformDefinition, options: dict[str, str], record: Any) -> None:
    before = reported(record)
    transform = definition.make(Options(definition.keys, options))
    first, second = transform.apply(record), transform.apply(record)
    assert first is not None
    assert second is not None
    assert first == second
    assert first.value_schema is second.value_schema
    assert first.key_schema is second.key_schema
    assert reported(record) == before
