"""Names of schemas in records: ids, GUIDs, and the indexes of messages. No Spark is started."""

from __future__ import annotations

from uuid import UUID

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'quickstart')")

from connector.converters.protobuf.indexes import index_bytes
from workers.spark.topics.id_place import HASHED, SchemaName, is_hashed

GUID = UUID("01234567-89ab-cdef-0123-456789abcdef")


@pytest.mark.parametrize("indexes", [(0,), (3,), (0, 0), (0, 1, 200)])
def test_name_has_what_the_converter_writes(indexes: tuple[int, ...]) -> None:
    written = index_bytes(indexes)
    assert SchemaName.of(b"\0\0\0\1\2" + written) == SchemaName(258, indexes)
    assert SchemaName.of(b"\1" + GUID.bytes + written) == SchemaName(str(GUID), indexes)


def test_ids_have_a_sign() -> None:
    assert SchemaName.of(b"\0\xff\xff\xff\xfe") == SchemaName(-2)


def test_ids_are_no_hashes() -> None:
    assert not is_hashed((2**31 - 1, None, -1, -(2**31)))
    assert is_hashed((7, HASHED))
