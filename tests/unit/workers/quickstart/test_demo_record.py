"""The demo's record of its servers, and a cache that cannot be written."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from workers.quickstart.demo import __main__ as demo
from workers.quickstart.demo import record
from workers.quickstart.demo.stack import Stack
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.place import locked


class Started:
    def processes(self) -> list[tuple[str, int, Path, int]]:
        return [("worker", 2**22 + 1, Path("/tmp/understudy-worker-x"), 15)]


STACK = cast("Stack", Started())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNDERSTUDY_CACHE", str(tmp_path))
    return tmp_path


def test_a_record_is_read_as_it_was_written(cache: Path) -> None:
    assert record.read() is None
    record.write(STACK, "the addresses")
    read = record.read()
    assert read is not None
    assert (read.addresses, [server.name for server in read.servers], read.alive) == ("the addresses", ["worker"], False)
    assert [file.name for file in cache.iterdir()] == ["up.json"]


def test_a_record_that_cannot_be_written_keeps_the_former(cache: Path) -> None:
    record.write(STACK, "the former")
    (cache / "up.new").mkdir()
    with pytest.raises(EmbeddedError, match=r"up\.json cannot be written .+ Set UNDERSTUDY_CACHE"):
        record.write(STACK, "the next")
    read = record.read()
    assert read is not None
    assert read.addresses == "the former"


@pytest.mark.parametrize("content", [b"", b'{"servers": [{"na', b"[]", b"{}", b'{"servers": [{}]}', b"\xff"])
def test_a_broken_record_has_a_remedy(cache: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (cache / "up.json").write_bytes(content)
    with pytest.raises(EmbeddedError, match=r"up\.json does not say which servers .+ Then remove the file\.$"):
        demo.down()
    assert capsys.readouterr().out == ""


def test_a_cache_that_cannot_be_written_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").write_bytes(b"")
    monkeypatch.setenv("UNDERSTUDY_CACHE", str(cache / "file"))
    with pytest.raises(EmbeddedError, match=r"file cannot be written \(.+\)\. Set UNDERSTUDY_CACHE"):
        record.read()
    with pytest.raises(EmbeddedError, match=r"cannot be written"), locked(cache / "file" / "lock"):
        pass
