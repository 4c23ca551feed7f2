"""The log lines of the command ``bulk-snapshot``, and the configuration that it creates a connector of."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.bulk.initial_snapshot import Lines, _given
from workers.spark.failure import JobError


def test_fields_follow_the_event() -> None:
    record = logging.LogRecord("connector", logging.INFO, "", 0, "table read", None, None)
    record.__dict__["fields"] = {"table": "public.a", "why": 'no "slot"\n yet', "password": "p"}
    line = Lines().format(record)
    assert line.endswith(' table read table=public.a why="no \\"slot\\"\\n yet" password=[hidden]')
    assert "\n" not in line


def test_lines_without_fields_stay_as_they_are() -> None:
    assert Lines().format(logging.LogRecord("py4j", logging.INFO, "", 0, "hello", None, None)).endswith(" hello")


def given(tmp_path: Path, text: str, name: str | None = None) -> tuple[str, dict[str, str] | None]:
    file = tmp_path / "shop.json"
    file.write_text(text)
    return _given(argparse.Namespace(config=file, name=name))


def test_values_become_strings_as_in_a_call_of_rest(tmp_path: Path) -> None:
    config = '{"a": 1e3, "b": true, "c": null, "d": 1.50, "e": "x", "name": "shop"}'
    expected = {"a": "1e3", "b": "true", "d": "1.50", "e": "x", "name": "shop"}
    assert given(tmp_path, config) == ("shop", expected)
    assert given(tmp_path, f'{{"name": 7, "config": {config}}}') == ("7", expected)
    assert given(tmp_path, config, "other") == ("other", expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "shop", "a": {"b": 1}}', '"a" is a JSON object. Write it as a string.'),
        ('{"name": "shop", "config": []}', "holds no object"),
        ("[]", "cannot be read as JSON"),
        ("{", "cannot be read as JSON"),
        ('{"a": "b"}', "Give --name"),
    ],
)
def test_files_that_hold_no_configuration(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(JobError, match=said):
        given(tmp_path, text)
