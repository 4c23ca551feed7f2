"""What the recordings of TimezoneConverter cannot hold: the offset of a place today, and zones that are refused at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord
from connector.record.schema import Field, Schema
from connector.transforms.debezium.timezone.timezone_converter import KEYS, TimezoneConverter
from connector.transforms.debezium.timezone.zone import Zone

TIME: Final = Schema("string", optional=True, name="io.debezium.time.ZonedTime", version=1)
ROW: Final = Schema("struct", optional=True, fields=(Field("t", TIME),))
EVENT: Final = Schema("struct", name="p.Envelope", fields=(Field("after", ROW),))


@pytest.mark.parametrize(("month", "shown"), [(1, "16:13:16+01:00"), (7, "17:13:16+02:00")])
def test_a_time_of_day_has_the_offset_of_today(month: int, shown: str) -> None:
    transform = TimezoneConverter(Zone.named("Europe/Berlin"), clock=lambda: datetime(2026, month, 1, tzinfo=UTC))
    found = transform.apply(ConnectRecord("t", value_schema=EVENT, value={"after": {"t": "15:13:16Z"}}))
    assert found.value == {"after": {"t": shown}}


@pytest.mark.parametrize("name", ["+18:01", "-25:00", "+10:60", "PST", "../UTC", "Europe"])
def test_a_zone_that_cannot_be_read_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match="Invalid timezone format"):
        TimezoneConverter.of(Options(KEYS, {"converted.timezone": name}))
