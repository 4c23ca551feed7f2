"""A file is created completely or not at all, and by one of several processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workers.spark.sinks.delta.log_folder import local_folder
from workers.spark.sinks.new_file import create

pytestmark = pytest.mark.usefixtures("mask")


@pytest.fixture
def mask() -> Iterator[None]:
    """A mask of the process that takes all rights of others."""
    former = os.umask(0o077)
    yield
    os.umask(former)


def test_file_has_its_text_and_the_rights_that_hadoop_gives(tmp_path: Path) -> None:
    create(tmp_path / "1.json", "a\nä\r\n")
    assert (tmp_path / "1.json").read_bytes() == "a\nä\r\n".encode()
    assert (tmp_path / "1.json").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]


def test_file_may_have_bytes(tmp_path: Path) -> None:
    create(tmp_path / "1.bin", b"\x00\r\n\xff")
    assert (tmp_path / "1.bin").read_bytes() == b"\x00\r\n\xff"


def test_existing_file_stays(tmp_path: Path) -> None:
    create(tmp_path / "1.json", "first")
    with pytest.raises(FileExistsError):
        create(tmp_path / "1.json", "second")
    assert (tmp_path / "1.json").read_text(encoding="utf-8") == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]


def test_one_of_several_writers_succeeds(tmp_path: Path) -> None:
    def attempt(number: int) -> bool:
        try:
            create(tmp_path / "1.json", str(number))
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = [*pool.map(attempt, range(64))]
    assert done.count(True) == 1
    assert (tmp_path / "1.json").read_text(encoding="utf-8") == str(done.index(True))


def test_text_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        create(tmp_path / "1.json", "\ud800")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("scheme", "settings", "expected"),
    [
        ("file", {}, Path("/data/a b/_delta_log")),
        ("s3a", {}, None),
        ("hdfs", {}, None),
        ("file", {"spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore"}, None),
        ("file", {"spark.sql.shuffle.partitions": "2"}, Path("/data/a b/_delta_log")),
    ],
)
def test_only_a_local_log_without_a_chosen_store_is_linked(scheme: str, settings: dict[str, str], expected: Path | None) -> None:
    assert local_folder(scheme, "/data/a b/_delta_log", settings) == expected
