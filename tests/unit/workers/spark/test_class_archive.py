from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.class_archive import archive_of, reading, writing


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """The program of a Java, of which only the classes matter."""
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch()
    modules = tmp_path / "java" / "lib" / "modules"
    modules.parent.mkdir()
    modules.write_bytes(b"classes")
    return program


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    folder = tmp_path / "jars"
    folder.mkdir()
    for name in ("a.jar", "b.jar"):
        (folder / name).write_bytes(b"zip")
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    return folder


def test_the_name_is_that_of_one_java_and_its_jars(tmp_path: Path, java: Path, jars: Path) -> None:
    first = archive_of(tmp_path, java, jars)
    assert first.parent == tmp_path
    assert archive_of(tmp_path, java, jars) == first
    link = tmp_path / "linked"
    link.symlink_to(java)
    assert archive_of(tmp_path, link, jars) == first


@pytest.mark.parametrize("changed", ["another size", "another time", "one more", "another Java", "another folder"])
def test_another_java_or_other_jars_have_another_name(tmp_path: Path, java: Path, jars: Path, changed: str) -> None:
    first = archive_of(tmp_path, java, jars)
    match changed:
        case "another size":
            (jars / "a.jar").write_bytes(b"longer")
            os.utime(jars / "a.jar", (1_700_000_000, 1_700_000_000))
        case "another time":
            os.utime(jars / "a.jar", (1_700_000_001, 1_700_000_001))
        case "one more":
            (jars / "c.jar").touch()
        case "another Java":
            (java.parents[1] / "lib" / "modules").write_bytes(b"other classes")
        case _:
            jars = jars.rename(tmp_path / "moved")
    assert archive_of(tmp_path, java, jars) != first


def test_a_program_that_starts_another_java_counts_itself(tmp_path: Path, java: Path, jars: Path) -> None:
    (java.parents[1] / "lib" / "modules").unlink()
    first = archive_of(tmp_path, java, jars)
    java.write_text("exec other/java")
    assert archive_of(tmp_path, java, jars) != first
    assert archive_of(tmp_path, java, tmp_path / "nowhere") != first


def test_java_uses_only_an_archive_that_is_there(tmp_path: Path) -> None:
    archive = tmp_path / "classes.jsa"
    assert reading(archive) == ""
    archive.touch()
    assert reading(archive).startswith(f'"-XX:SharedArchiveFile={archive}" ')
    assert writing(archive).startswith(f'"-XX:ArchiveClassesAtExit={archive}" ')
