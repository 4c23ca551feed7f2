"""``understudy-spark prepare``: an archive of classes, and the sessions that use it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession

from tests.support.project import ROOT
from workers.spark import prepare
from workers.spark.class_archive import archive_of
from workers.spark.failure import UNREADABLE, JobError
from workers.spark.session import find_java, jar_folder, session_settings

SESSION = """
import sys
from pathlib import Path
from workers.spark.session import find_java, open_session
spark = open_session("loads", find_java(), settings={"spark.driver.extraJavaOptions": f"-Xlog:class+load:file={sys.argv[1]}"})
print(spark.range(3).groupBy().sum("id").collect())
spark.stop()
"""


def python(*words: str) -> subprocess.CompletedProcess[str]:
    """What a Python process with these arguments says, with its JVM. Fails if it fails."""
    return subprocess.run([sys.executable, "-P", *words], capture_output=True, text=True, check=True)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Path:
    """A cache that has the jars, because the session has fetched them, and no archive."""
    jars, place = jar_folder() / "jars", tmp_path / "a cache"
    monkeypatch.setenv("UNDERSTUDY_CACHE", str(place))
    (place / "ivy").mkdir(parents=True)
    (place / "ivy" / "jars").symlink_to(jars)
    return place / "ivy"


@pytest.fixture
def written() -> Path | None:
    """The archive that ``make test-long-spark`` writes before its tests. One that is older than the code does not count.

    Ask for it before ``cache``, which sets the folder.
    """
    archive = archive_of(jar_folder(), find_java())
    code = max(path.stat().st_mtime for path in (ROOT / "workers").rglob("*.py"))
    return archive if archive.is_file() and archive.stat().st_mtime > code else None


@pytest.mark.long
@pytest.mark.pg_once
def test_a_session_takes_its_classes_from_the_archive(written: Path | None, cache: Path, tmp_path: Path) -> None:
    archive = archive_of(cache, find_java())
    if written is None:
        said = python("-m", "workers.bulk", "prepare").stdout
        assert f"is written: {archive}, " in said
    else:
        # Writing it takes a minute. The same command has just done so.
        archive.symlink_to(written)
    again = python("-m", "workers.bulk", "prepare").stdout
    assert again == f"6 jars are in {cache / 'jars'}\nThe archive of Spark's classes is there already: {archive}\n"
    assert sorted(path.name for path in cache.iterdir()) == [archive.name, "jars"]
    loads = tmp_path / "loads"
    done = python("-c", SESSION, str(loads))
    # Java says nothing about classes that the archive lacks.
    assert done.stdout == "[Row(sum(id)=3)]\n"
    assert "cds" not in done.stderr
    sources = [line.rpartition("source: ")[2] for line in loads.read_text().splitlines()]
    archived = sources.count("shared objects file (top)")
    read = sum(1 for source in sources if re.search(r"\.jar$", source))
    assert archived > 20 * read, (archived, read)


@pytest.mark.pg_once
def test_a_java_that_writes_no_archive_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "one\ntwo\nJava has no archive of its own classes\n"
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, said))
    monkeypatch.setattr(prepare, "find_java", lambda: Path(sys.executable))
    monkeypatch.setattr(prepare, "archive_of", lambda folder, _: folder / "classes.jsa")
    with pytest.raises(JobError, match="wrote no archive of Spark's classes: one two Java has no archive of its own classes") as refusal:
        prepare.run([], io.StringIO())
    assert refusal.value.code == UNREADABLE
    assert [path.name for path in cache.iterdir()] == ["jars"]


def test_the_user_s_options_come_after_the_archive() -> None:
    made = session_settings([], {"spark.driver.extraJavaOptions": "-Xlog:gc"}, "-XX:SharedArchiveFile=/x.jsa")
    options = made["spark.driver.extraJavaOptions"].split()
    assert options[-2:] == ["-XX:SharedArchiveFile=/x.jsa", "-Xlog:gc"]
