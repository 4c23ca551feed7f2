"""What ``Flatten`` makes of a struct with a default, which JsonConverter cannot carry; the answers are those of Kafka Connect 4.3."""

from __future__ import annotations

import pytest

from connector.configdef.options import Options
from connector.record import struct
from connector.record.connect_record import ConnectRecord
from connector.record.schema import NO_DEFAULT, Field, Schema
from connector.transforms.kafka.fields.flatten import DEFINITIONS, KEYS

INNER = Schema(
    "struct", optional=True, fields=(Field("y", Schema("string", optional=True)), Field("z", Schema("string", optional=True, default="zz")))
)
DEFAULT = {"n": {"y": "of default", "z": None}, "s": "sd"}
OUTER = Schema("struct", optional=True, fields=(Field("n", INNER), Field("s", Schema("string", optional=True))), default=DEFAULT)


def test_the_default_of_a_struct_becomes_that_of_its_fields() -> None:
    [flatten] = [definition.make(Options(KEYS, {})) for definition in DEFINITIONS if definition.name.endswith("$Value")]
    record = flatten.apply(ConnectRecord("t", value_schema=OUTER, value={"n": None, "s": "x"}))
    assert record is not None
    assert record.value == {"n.y": None, "n.z": None, "s": "x"}
    schema = record.value_schema
    assert schema is not None
    assert {field.name: field.schema.default for field in schema.fields} == {"n.y": "of default", "n.z": "zz", "s": "sd"}
    assert not schema.optional
    assert schema.default is NO_DEFAULT


def test_no_field_of_a_struct_is_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work would be quadratic in the number of null columns."""

    def searched(_schema: Schema, name: str) -> Field:
        pytest.fail(f"{name} is searched for")

    monkeypatch.setattr(struct, "field_of", searched)
    [flatten] = [definition.make(Options(KEYS, {})) for definition in DEFINITIONS if definition.name.endswith("$Value")]
    flat = flatten.apply(ConnectRecord("t", value_schema=OUTER, value={"n": {"y": None, "z": None}, "s": None}))
    assert flat is not None
    assert flat.value == {"n.y": None, "n.z": "zz", "s": None}
