"""OpenLineage's own client writes the events as they are given, with files of settings for Java and for Python."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from connector.config.connector_config import parse
from connector.io import openlineage
from connector.io.openlineage import LineageSetupError, adapter_version, open_client
from connector.lineage.dataset import Dataset, DatasetField
from connector.lineage.job import LineageJob
from connector.lineage.run_event import LineageRun, RunFailure

CONFIG = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "u",
    "database.dbname": "d",
    "topic.prefix": "shop",
    "openlineage.integration.job.tags": "env=prod",
    "openlineage.integration.job.owners": "Ann=maintainer",
}


def event() -> dict[str, Any]:
    config, _ = parse(CONFIG)
    run = LineageRun(LineageJob.of(config, CONFIG, 0), "01a208bc-80dc-74a2-bbfe-788a9ba4dcb2", "1")
    fields = (DatasetField("after", "STRUCT", None, (DatasetField("id", "INT32", "Key"),)),)
    datasets = [Dataset("input", "TABLE", "postgres://db:5432", "d.s.t", fields), Dataset("output", "STREAM", "kafka://b", "t", fields)]
    return run.event("FAIL", "2026-01-02T03:04:05.678901Z", datasets, RunFailure("It failed", "Why"))


def settings(tmp_path: Path, text: str) -> str:
    path = tmp_path / "openlineage.yml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("keys", ["location: {}", "log_file_path: {}\n  append: true"])
def test_file_transport_writes_the_event_as_it_is(tmp_path: Path, keys: str) -> None:
    written = tmp_path / "events.jsonl"
    emit = open_client(settings(tmp_path, f"transport:\n  type: file\n  {keys.format(written)}\n"))
    emit(event())
    emit(event())
    found = [json.loads(line) for line in written.read_text().splitlines()]
    # The client adds its own version to each run.
    added = [each["run"]["facets"].pop("tags")["tags"] for each in found]
    own = {"key": "openlineage_client_version", "value": version("openlineage-python"), "source": "OPENLINEAGE_CLIENT"}
    assert added == [[own], [own]]
    assert found == [event(), event()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("transport:\n  type: os.system\n", "transport.type"),
        ("transport: none\n", "transport.type"),
        ("- a\n", "transport.type"),
        ("transport: [\n", "no YAML"),
        ("transport:\n  type: file\n", "refuses the settings"),
    ],
)
def test_unusable_settings_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(LineageSetupError, match=said) as caught:
        open_client(settings(tmp_path, text))
    assert "openlineage.integration.config.file.path" in str(caught.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LineageSetupError, match="FileNotFoundError"):
        open_client(str(tmp_path / "none.yml"))


def test_missing_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(openlineage, "version", missing)
    with pytest.raises(LineageSetupError, match=r"pip install openlineage-python=="):
        adapter_version()
