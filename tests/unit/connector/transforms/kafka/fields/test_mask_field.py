"""A decimal that is masked is written at its schema's scale, or not at all."""

from __future__ import annotations

from decimal import Decimal

import pytest

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.record.json_converter import value_json
from connector.record.schema import DECIMAL, Field, Schema
from connector.transforms.kafka.fields.mask_field import DEFINITIONS, KEYS

ROW = Schema("struct", fields=(Field("dec", Schema("bytes", name=DECIMAL, version=1, parameters=(("scale", "2"),))),))


def masked(options: dict[str, str]) -> ConnectRecord:
    [mask] = [
        definition.make(Options(KEYS, {"fields": "dec"} | options)) for definition in DEFINITIONS if definition.name.endswith("$Value")
    ]
    record = mask.apply(ConnectRecord("t", value_schema=ROW, value={"dec": Decimal("12.34")}))
    assert record is not None
    return record


@pytest.mark.parametrize(
    ("options", "payload"),
    [({}, "AA=="), ({"replacement": "1.5"}, "AJY="), ({"replacement": "1e1"}, "A+g="), ({"replacement": "0e9999999"}, "AA==")],
)
def test_the_number_has_the_scale_of_its_field(options: dict[str, str], payload: str) -> None:
    assert value_json(ROW, masked(options).value) == f'{{"dec":"{payload}"}}'.encode()


@pytest.mark.parametrize("replacement", ["1.234", "1e1000000000", "1e-1000000000"])
def test_a_number_that_the_scale_cannot_hold_fails_at_once(replacement: str) -> None:
    with pytest.raises(ValueError, match="digits"):
        value_json(ROW, masked({"replacement": replacement}).value)
