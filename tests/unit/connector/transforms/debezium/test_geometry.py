"""What GeometryFormatTransformer keeps from one record to the next."""

from __future__ import annotations

from typing import Final

import pytest

from connector.configdef.options import Options
from connector.emulation import DEBEZIUM_3_6_3, DEBEZIUM_3_7_0, Emulation
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import BYTES, INT32, Field, Schema
from connector.transforms.debezium.geometry import FORMAT_KEYS, GEOMETRY, GeometryFormatTransformer
from connector.types.spatial.wkb import with_srid, without_srid

SHAPE: Final = Schema("struct", name=GEOMETRY, version=1, fields=(Field("wkb", BYTES), Field("srid", INT32.as_optional())))
ROW: Final = Schema("struct", fields=(Field("g", SHAPE),))
PLAIN: Final = bytes.fromhex("0101000000") + bytes(16)
EXTENDED: Final = with_srid(PLAIN, 4326)


def transform(emulation: Emulation) -> GeometryFormatTransformer:
    return GeometryFormatTransformer.of(Options(FORMAT_KEYS, {}, emulation))


def sent(step: GeometryFormatTransformer, wkb: bytes, srid: int | None) -> bytes:
    changed = step.apply(ConnectRecord("t", None, None, ROW, {"g": {"wkb": wkb, "srid": srid}}))
    found: bytes = changed.value["g"]["wkb"]
    return found


@pytest.mark.parametrize("emulation", [DEBEZIUM_3_6_3, DEBEZIUM_3_7_0])
def test_srids_are_written_until_the_first_geometry_that_has_one(emulation: Emulation) -> None:
    step = transform(emulation)
    assert sent(step, PLAIN, 4326) == EXTENDED
    assert sent(step, EXTENDED, 4326) == without_srid(EXTENDED) == PLAIN
    assert sent(step, PLAIN, 4326) == PLAIN
    assert sent(step, PLAIN, None) == PLAIN


def test_a_geometry_without_any_srid_fails_only_where_one_is_to_be_written() -> None:
    step = transform(DEBEZIUM_3_6_3)
    with pytest.raises(DataError):
        sent(step, PLAIN, None)
    sent(step, EXTENDED, 4326)
    assert sent(step, PLAIN, None) == PLAIN
