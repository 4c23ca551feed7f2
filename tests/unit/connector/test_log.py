from __future__ import annotations

import logging

import pytest

from connector.log import EventLog

LOG = EventLog("connector.test")


def test_an_event_and_its_fields_are_one_record(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "connector.test")
    LOG.debug("looked")
    LOG.info("table read", table="public.orders", rows=3)
    LOG.warning("100% of it", name="a")
    LOG.error("failed", reason="why")
    assert [(record.levelname, record.getMessage(), vars(record)["fields"]) for record in caplog.records] == [
        ("DEBUG", "looked", {}),
        ("INFO", "table read", {"table": "public.orders", "rows": 3}),
        ("WARNING", "100% of it", {"name": "a"}),
        ("ERROR", "failed", {"reason": "why"}),
    ]
    assert {record.filename for record in caplog.records} == {"test_log.py"}


def test_an_exception_brings_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    problem = ValueError("no")
    LOG.error("failed", cause=problem, table="t")
    [record] = caplog.records
    assert (record.levelname, record.exc_info, vars(record)["fields"]) == (
        "ERROR",
        (ValueError, problem, problem.__traceback__),
        {"table": "t"},
    )


def test_a_level_that_is_off_costs_no_record(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "connector.test")
    LOG.info("table read")
    assert caplog.records == []
