from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.project import ROOT
from workers.spark.session import jar_folder


def test_a_repository_keeps_its_jars() -> None:
    assert jar_folder({}) == ROOT / ".cache" / "ivy"


def test_the_variable_decides(tmp_path: Path) -> None:
    assert jar_folder({"UNDERSTUDY_CACHE": "/var/cache/x"}) == Path("/var/cache/x/ivy")
    assert jar_folder({"UNDERSTUDY_CACHE": "/var/cache/x"}, tmp_path) == Path("/var/cache/x/ivy")


def test_an_installed_package_writes_into_the_user_s_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert jar_folder({"XDG_CACHE_HOME": "/x"}, tmp_path) == Path("/x/understudy/ivy")
    monkeypatch.setenv("HOME", "/home/u")
    assert jar_folder({}, tmp_path) == Path("/home/u/.cache/understudy/ivy")
