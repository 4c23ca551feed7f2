"""The command ``understudy worker`` with settings that keep a worker from starting."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.__main__ import _hide_libpqs_variables, _log_ineffective, main
from workers.settings.worker_settings import WorkerSettings


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


def test_an_unknown_log_format_keeps_the_worker_from_starting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("log.format=xml\n")
    assert main(["worker", str(file)]) == 1
    assert capsys.readouterr().err == "understudy: Invalid value xml for the worker property log.format: It must be text or json\n"


def test_the_log_format_holds_before_the_other_settings_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(
        "log.format=json\n"
        "config.providers=env\n"
        "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        "group.id=${env:UNDERSTUDY_NOT_SET}\n"
        "preflight=nonsense\n"
    )
    assert main(["worker", str(file)]) == 1
    logged, refused = capsys.readouterr().err.splitlines()
    line = json.loads(logged)
    assert (line["msg"], line["property"], line["reference"]) == ("reference not resolved", "group.id", "${env:UNDERSTUDY_NOT_SET}")
    assert refused == "understudy: Invalid value nonsense for the worker property preflight: It must be warn, refuse or off"


def test_a_misspelt_group_keeps_the_worker_from_starting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("bootstrap.servers=127.0.0.1:1\ngroup_id=shop\nkey.converter=\noffset.storage.topic=o\nstatus.storage.topic=s\n")
    assert main(["worker", str(file)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "understudy: group.id, config.storage.topic, key.converter, value.converter are missing and have no default. "
        f"Set them in {file}. These properties are unknown: group_id."
    )
    assert main(["migrate", "--from", str(file)]) == 1
    assert "group.id, config.storage.topic" in capsys.readouterr().err


def test_without_a_file_the_variables_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in os.environ if name.startswith("CONNECT_") or name.endswith(("_STORAGE_TOPIC", "_CONVERTER"))]:
        monkeypatch.delenv(name)
    for key in ("CONFIG_STORAGE_TOPIC", "OFFSET_STORAGE_TOPIC", "STATUS_STORAGE_TOPIC", "KEY_CONVERTER", "VALUE_CONVERTER"):
        monkeypatch.setenv(f"CONNECT_{key}", "org.apache.kafka.connect.json.JsonConverter")
    monkeypatch.delenv("GROUP_ID", raising=False)
    assert main(["worker"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "understudy: group.id is missing and has no default. Set CONNECT_GROUP_ID, or give the worker a file: understudy worker FILE."
    )


def test_libpqs_variables_are_named_without_their_values(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for name, value in (("PGTZ", "Asia/Tokyo"), ("PGPASSWORD", "geheim"), ("PGPASSFILE", "/passwords")):
        monkeypatch.setenv(name, value)
    _hide_libpqs_variables()
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert {"PGTZ", "PGPASSWORD"} <= set(record.fields["names"].split(","))  # type: ignore[attr-defined]
    assert "PGPASSFILE" not in record.fields["names"]  # type: ignore[attr-defined]
    assert "geheim" not in caplog.text


@pytest.mark.parametrize(("partitions", "lines"), [("3", 1), ("1", 0)])
def test_more_partitions_for_the_configurations_are_a_warning(partitions: str, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    _log_ineffective(WorkerSettings.from_properties({"config.storage.partitions": partitions}))
    assert [record.levelname for record in caplog.records] == ["WARNING"] * lines
