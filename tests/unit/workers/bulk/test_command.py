"""The log lines of the command ``bulk-snapshot``."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.bulk.command import Lines


def test_fields_follow_the_event() -> None:
    record = logging.LogRecord("connector", logging.INFO, "", 0, "table read", None, None)
    record.__dict__["fields"] = {"table": "public.a", "why": 'no "slot"\n yet', "password": "p"}
    line = Lines().format(record)
    assert line.endswith(' table read table=public.a why="no \\"slot\\"\\n yet" password=[hidden]')
    assert "\n" not in line


def test_lines_without_fields_stay_as_they_are() -> None:
    assert Lines().format(logging.LogRecord("py4j", logging.INFO, "", 0, "hello", None, None)).endswith(" hello")
