"""Lines that would come for every row are written once a minute."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from connector.log import EventLog
from workers.telemetry import repeated_lines
from workers.telemetry.logging import configure, connector_context
from workers.telemetry.repeated_lines import RepeatedLines

LOG = EventLog("connector.events.changes")


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The log of a worker."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    configure("INFO", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def record(created: float, column: str = "at", reason: str = "too large", event: str = "value sent as null") -> logging.LogRecord:
    made = logging.LogRecord("connector", logging.WARNING, "", 0, event, None, None)
    made.created = created
    made.__dict__["fields"] = {"table": "public.a", "column": column, "reason": reason}
    return made


def test_a_line_comes_again_after_a_minute_with_the_number_of_those_between() -> None:
    lines = RepeatedLines(lambda: "shop")
    assert [lines.filter(record(at, reason=str(at))) for at in (100.0, 100.1, 159.9)] == [True, False, False]
    assert lines.filter(record(100.2, "of"))
    later = record(160.0)
    assert lines.filter(later)
    assert later.__dict__["fields"] == {"table": "public.a", "column": "at", "reason": "too large", "more": 2}
    again = record(220.0)
    assert lines.filter(again)
    assert "more" not in again.__dict__["fields"]
    # A clock that is set back does not keep lines away.
    assert lines.filter(record(10.0))


def test_other_lines_all_pass() -> None:
    lines = RepeatedLines(lambda: None)
    assert all(lines.filter(record(1.0, event="event left out")) for _ in range(3))


def test_connectors_do_not_hide_each_other_s_lines(lines: io.StringIO) -> None:
    for name in ("a", "b", "a"):
        with connector_context(name):
            LOG.warning("value sent as null", table="public.t", column="at", reason="too large")
            LOG.warning("event left out", table="public.t", lsn="0/1", reason="too large")
    written = [line.split(" connector=")[1] for line in lines.getvalue().splitlines()]
    assert written == [
        'a msg="value sent as null" table=public.t column=at reason="too large"',
        'a msg="event left out" table=public.t lsn=0/1 reason="too large"',
        'b msg="value sent as null" table=public.t column=at reason="too large"',
        'b msg="event left out" table=public.t lsn=0/1 reason="too large"',
        'a msg="event left out" table=public.t lsn=0/1 reason="too large"',
    ]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_lines, "MOST", 2)
    lines = RepeatedLines(lambda: None)
    assert [lines.filter(record(1.0, column)) for column in ("a", "b", "c", "a", "c")] == [True, True, True, True, False]
