"""The start of Spark's JVM in a process of its own: what its arguments show, and what it knows."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark import SparkConf, SparkContext

from workers.spark.failure import JobError
from workers.spark.jvm import start_jvm
from workers.spark.session import find_java

PROGRAM = """
import json, sys
from pathlib import Path
from workers.spark.session import find_java, open_session

settings = json.loads(sys.argv[1])
spark = open_session("arguments", find_java(), [Path(sys.argv[2])], master="local[1]", settings=settings)
context = spark.sparkContext
loader = context._jvm.java.lang.Thread.currentThread().getContextClassLoader()
print(json.dumps({
    "arguments": Path(f"/proc/{context._gateway.proc.pid}/cmdline").read_text().split("\\0"),
    "settings": dict(context.getConf().getAll()),
    "hadoop": {name: context._jsc.hadoopConfiguration().get(name.removeprefix("spark.hadoop.")) for name in settings if "hadoop" in name},
    "resource": loader.getResource("of/mine") is not None,
}))
spark.stop()
"""


def started(tmp_path: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    try:
        find_java()
    except JobError as error:
        pytest.skip(str(error))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.of.defaults yes\nspark.hadoop.fs.s3a.secret.key former\n")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    pinned = tmp_path / "pinned.jar"
    with zipfile.ZipFile(pinned, "w") as jar:
        jar.writestr("of/pinned", "")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(settings), str(pinned)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert not list((tmp_path / "temporary").glob("spark-settings-*"))
    return found


@pytest.mark.server
def test_settings_are_known_and_not_in_the_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = " a=b: \\ #ü€😀 'TOPSECRET\" ${x}\n! "
    mine = tmp_path / "mine.jar"
    with zipfile.ZipFile(mine, "w") as jar:
        jar.writestr("of/mine", "")
    settings = {
        "spark.hadoop.fs.s3a.secret.key": secret,
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": "-Dof=mine",
        "spark.jars": str(mine),
    }
    found = started(tmp_path, settings, monkeypatch)
    assert not any("TOPSECRET" in argument or "fs.s3a" in argument for argument in found["arguments"])
    assert found["settings"]["spark.hadoop.fs.s3a.secret.key"] == secret
    assert found["hadoop"] == {"spark.hadoop.fs.s3a.secret.key": secret}
    # What the JVM needs at its start has effect, and so has spark-defaults.conf.
    assert {"-Xmx600m", "-Dof=mine"} <= {*found["arguments"]}
    assert found["settings"]["spark.of.defaults"] == "yes"
    assert [Path(path).name for path in found["settings"]["spark.jars"].split(",")] == ["pinned.jar", "mine.jar"]
    assert found["resource"]


@pytest.mark.parametrize("former", [None, "--verbose pyspark-shell"])
def test_no_setting_is_left_on_disk_if_java_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, former: str | None) -> None:
    seen: list[tuple[int, str, dict[str, str], list[str]]] = []

    def fails(*, conf: SparkConf) -> None:
        option, file, *others = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
        assert option == "--properties-file"
        seen.append((Path(file).parent.stat().st_mode & 0o777, Path(file).read_text(), dict(conf.getAll()), others))
        raise OSError("No Java")

    place = tmp_path / "it's a folder"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", fails)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    if former is not None:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", former)
    with pytest.raises(OSError, match="No Java"):
        start_jvm({"spark.app.name": "a", "spark.my": "secret "}, ["spark.my"])
    others = ["--load-spark-defaults", *(former or "pyspark-shell").split()]
    assert seen == [(0o700, "spark.my=secret\\u0020\n", {"spark.app.name": "a"}, others)]
    assert list(place.iterdir()) == []
    assert os.environ.get("PYSPARK_SUBMIT_ARGS") == former
