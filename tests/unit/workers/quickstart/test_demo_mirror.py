"""The demo's mirror writes nothing outside its own folder."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.quickstart.demo import __main__ as demo
from workers.quickstart.demo.stack import Stack
from workers.spark.jobs.mirror_config import MirrorConfig, read_config


def test_spark_writes_only_below_the_mirrors_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Path, MirrorConfig]] = []

    def run(words: list[str], **_: Any) -> SimpleNamespace:
        path = Path(words[words.index("--config") + 1])
        seen.append((path.parent, read_config(path)))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    stack = cast("Stack", SimpleNamespace(kafka=SimpleNamespace(bootstrap="127.0.0.1:1"), dsn="postgresql://127.0.0.1:1/shop"))
    assert demo._mirror(stack) == 0
    ((folder, config),) = seen
    for place in (config.checkpoint, config.sink.path, config.spark["spark.sql.warehouse.dir"]):
        assert Path(place or "").is_relative_to(folder)
    assert not folder.exists()
