from __future__ import annotations

import pytest

from connector.catalog.selection import Selection
from connector.errors import CdcError
from connector.events.capture import Capture
from connector.events.envelope import SourceFacts, TableSource
from connector.record.json_converter import ConverterSettings
from connector.runner.snapshot.rows import FailureModes, RowWriter, TableWork
from connector.types.codec import Column
from tests.support.stream_rig import INT4, NOW_NS, TYPES, RecordingOut, Sent, catalog_table, configured
from tests.support.warned import Warned

NUMERIC_10_2 = 655366
TABLE = catalog_table("t", Column("id", INT4, not_null=True), Column("n", 1700, NUMERIC_10_2, not_null=True), primary_key=["id"])


def written(failures: FailureModes, *rows: tuple[bytes, bytes]) -> list[Sent]:
    plain = ConverterSettings(schemas_enable=False)
    encoder = Capture(Selection.of(configured()), TYPES, plain, plain, Warned()).encoder(TABLE)
    records: list[Sent] = []
    source = TableSource.of(server="s", database="d", schema="public", table="t")
    writer = RowWriter(1, SourceFacts(0, None, None), b"\0", failures)
    writer.send_rows(TableWork(encoder, source, RecordingOut("s.public.t", records)), rows, False, "true", NOW_NS)
    return records


@pytest.mark.parametrize("converting", ["warn", "skip", "fail"])
def test_a_row_without_a_value_that_it_needs_fails_or_is_left_out(converting: str) -> None:
    rows = ((b"1", b"1.00"), (b"2", b"NaN"), (b"3", b"1.00"))
    with pytest.raises(CdcError, match=r"olumn n of table public\.t"):
        written(FailureModes(converting), *rows)
    for processing in ("warn", "skip", "ignore"):
        records = written(FailureModes(converting, processing), *rows)
        assert [(sent.key_json["id"], sent.payload["after"]["id"]) for sent in records] == [(1, 1), (3, 3)]
        assert written(FailureModes(converting, processing), rows[1]) == []
