"""The example of docs/snapshotters.md is what it says: it can be configured, loaded and asked."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connector.catalog.selection import Selection
from connector.config.connector_config import parse
from connector.plugins.allowed import AllowedPlugins
from connector.runner.snapshot.custom import custom_snapshot
from tests.support.project import DOCS

PAGE = DOCS / "snapshotters.md"
BASE = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "shop",
    "database.hostname": "localhost",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
}


def block(language: str) -> str:
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "orders.py").write_text(block("python"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("orders", None)


@pytest.mark.usefixtures("orders")
def test_the_example_decides_about_a_snapshot() -> None:
    config, _ = parse({**BASE, **json.loads(block("json"))})
    custom = custom_snapshot(Selection.of(config), AllowedPlugins.parse("orders"))
    mode = custom.mode(None, None)
    assert (mode.snapshot_data, mode.stream, mode.when_needed) == (True, True, True)
