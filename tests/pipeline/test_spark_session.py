"""Which Java is taken, what is said when there is none, and what comes into the jar cache. No Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'embedded')")

from workers.spark.__main__ import main
from workers.spark.failure import NO_JAVA, UNREADABLE, JobError
from workers.spark.jars import KAFKA_JARS, kafka_jars
from workers.spark.session import find_java

GOOD = "java.base@17.0.15\njdk.incubator.vector@17.0.15"


def java(home: Path, modules: str) -> Path:
    """A program that lists ``modules`` as ``java --list-modules`` would."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{modules}\nEND\n")
    program.chmod(0o755)
    return program


def test_java_home_comes_first(tmp_path: Path) -> None:
    wanted, on_path = java(tmp_path / "home", GOOD), java(tmp_path / "path", GOOD)
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}, ()) == wanted


def test_java_without_the_module_is_passed_over(tmp_path: Path) -> None:
    java(tmp_path / "bare", "java.base@25\njava.logging@25")
    installed = java(tmp_path / "jvm" / "openjdk", GOOD)
    assert find_java({"JAVA_HOME": str(tmp_path / "bare"), "PATH": ""}, [tmp_path / "jvm"]) == installed


@pytest.mark.parametrize(
    ("modules", "fault"),
    [
        ("java.base@25\njava.logging@25", "has no jdk.incubator.vector"),
        ("java.base@11.0.2\njdk.incubator.vector@11", "is Java 11"),
        ("Unrecognized option: --list-modules", "is older than Java 9"),
    ],
)
def test_refusal_names_the_fault_and_the_package(tmp_path: Path, modules: str, fault: str) -> None:
    program = java(tmp_path / "home", modules)
    with pytest.raises(JobError) as refusal:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}, ())
    assert refusal.value.code == NO_JAVA
    assert f"{program} {fault}" in str(refusal.value)
    assert "openjdk-17-jre-headless" in str(refusal.value)


def test_command_ends_with_3_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def none() -> Path:
        return find_java({"PATH": str(tmp_path)}, ())

    monkeypatch.setattr("workers.spark.__main__.find_java", none)
    assert main(["rebuild", "--bootstrap", "127.0.0.1:1", "--prefix", "p", "--dsn", "dbname=none"]) == 3
    assert "Install one" in capsys.readouterr().err


def test_cached_jars_are_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    for jar in KAFKA_JARS:
        (tmp_path / "jars" / jar.file_name).touch()
    paths = kafka_jars(Path("/does/not/exist"), tmp_path)
    assert next(path.name for path in paths) == "org.apache.spark_spark-sql-kafka-0-10_2.13-4.2.0.jar"


def test_jars_that_cannot_be_had_end_the_job(tmp_path: Path) -> None:
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\necho 'unresolved dependency'\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(JobError, match="unresolved dependency") as refusal:
        kafka_jars(program, tmp_path / "ivy")
    assert refusal.value.code == UNREADABLE
