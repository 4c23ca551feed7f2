"""Times that the recorded cases do not hold: those that depend on the moment at which the transform is made."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import INT64, STRING, Schema
from connector.transforms.kafka.timestamp_converter import KEYS, TimestampConverter


@pytest.mark.parametrize(("year", "expected"), [(2026, 915148800000), (2080, 4070908800000)])
def test_years_of_two_digits_lie_around_the_moment_at_which_it_is_made(year: int, expected: int) -> None:
    options = Options(KEYS, {"target.type": "unix", "format": "yy-MM-dd"})
    converter = TimestampConverter.of(options, "value", lambda: datetime(year, 6, 1, tzinfo=UTC))
    assert converter.apply(ConnectRecord("t", value_schema=STRING, value="99-01-01")).value == expected


@pytest.mark.parametrize(
    ("ms", "day"),
    [
        (2**63 - 1, -622191233),
        (185542587187199999, 2147483647),
        (185542587187200000, -2147483648),
        (-185542587187200000, -2147483648),
        (-185542587187200001, 2147483647),
    ],
)
def test_a_day_keeps_its_lowest_bits(ms: int, day: int) -> None:
    converter = TimestampConverter.of(Options(KEYS, {"target.type": "Date"}), "value")
    assert converter.apply(ConnectRecord("t", value_schema=INT64, value=ms)).value == day


@pytest.mark.parametrize("schema", [INT64.as_optional(), Schema("array", optional=True, items=STRING, default=["x"])])
def test_a_null_whose_schema_has_no_fields_fails_where_a_field_is_named(schema: Schema) -> None:
    converter = TimestampConverter.of(Options(KEYS, {"target.type": "Date", "field": "a"}), "value")
    with pytest.raises(DataError, match="Cannot list fields on non-struct type"):
        converter.apply(ConnectRecord("t", value_schema=schema))
