"""The signal file: which lines are removed from it, and which stay."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from connector.io.regular_file import LIMIT
from connector.io.signal_file import NotSignalsError, SignalFile
from connector.runner.signaling.signal_channels import SignalChannels
from connector.signals.signal import Signal
from tests.support.each_case import each_case
from tests.support.log_line import log_line
from tests.support.task_context import shop_config, task_context

ONE = b'{"id":"1","type":"log"}'
TWO = b'{"id":"2","type":"no such","data":"x"}'


def test_the_file_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    file = SignalFile("signals", str(tmp_path))
    assert file.take() == []
    path.write_bytes(ONE + b"\n\n" + TWO)
    assert file.take() == [ONE, b"", TWO]
    assert path.read_bytes() == b""
    assert file.take() == []


def test_a_line_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    file = SignalFile(str(path), str(tmp_path))
    for written in (b'{"id"', TWO[:-5]):
        path.write_bytes(ONE + b"\n" + written)
        assert file.take() == []
        assert path.read_bytes() == ONE + b"\n" + written
    path.write_bytes(ONE + b"\n" + TWO)
    assert file.take() == [ONE, TWO]
    path.write_bytes(ONE[:-5])
    assert file.take() == []
    # No reader continues with it.
    with pytest.raises(NotSignalsError, match="line 1 is not"):
        file.take()


@pytest.mark.parametrize(
    "line", [b"secret", b'{"type":"log"}', b'{"id":"1"}', b'{"id":1,"type":"log"}', b"[1]", b"\0", b"\xff", b"[" * 5000]
)
def test_a_file_with_a_line_that_is_not_a_signal_is_not_changed(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "signals"
    file = SignalFile(str(path), str(tmp_path))
    text = ONE + b"\n" + line + b"\n"
    path.write_bytes(text)
    with pytest.raises(NotSignalsError, match="line 2 is not a JSON object") as reported:
        file.take()
    assert "secret" not in str(reported.value)
    # Once for each content.
    assert file.take() == file.take() == []
    assert path.read_bytes() == text
    path.write_bytes(text + line + b"\n")
    with pytest.raises(NotSignalsError):
        file.take()
    path.write_bytes(ONE + b"\n")
    assert file.take() == [ONE]


def test_lines_written_during_a_read_are_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "signals"
    path.write_bytes(ONE + b"\n")
    late = [TWO + b"\n", b""]
    real = os.read

    def read(descriptor: int, count: int) -> bytes:
        found = real(descriptor, count)
        if not found and late:
            with path.open("ab") as more:
                more.write(late.pop(0))
        return found

    monkeypatch.setattr(os, "read", read)
    assert SignalFile(str(path), str(tmp_path)).take() == [ONE, TWO]
    assert path.read_bytes() == b""


def test_a_large_file_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    text = (ONE + b"\n") * (LIMIT // (len(ONE) + 1))
    path.write_bytes(text)
    assert len(SignalFile(str(path), str(tmp_path)).take()) == text.count(b"\n")
    path.write_bytes(text + ONE + b"\n")
    with pytest.raises(OSError, match="larger than"):
        SignalFile(str(path), str(tmp_path)).take()
    assert path.stat().st_size > LIMIT


@pytest.mark.parametrize("kind", ["directory", "fifo", "device"])
def test_only_regular_files_are_read(kind: str, tmp_path: Path) -> None:
    path, directory = tmp_path / "signals", tmp_path
    match kind:
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case _:
            path, directory = Path("/dev/zero"), Path("/")
    with pytest.raises(OSError):  # noqa: PT011 (which one is the system's affair)
        SignalFile(str(path), str(directory)).take()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files of signals in it and beside it, and symbolic links between them."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in2").mkdir()
    for name in ("in/f", "in/sub/f", "out", "in2/f"):
        (tmp_path / name).write_bytes(ONE + b"\n")
    (tmp_path / "in" / "link").symlink_to("f")
    (tmp_path / "in" / "escape").symlink_to("../out")
    (tmp_path / "in" / "away").symlink_to("../in2")
    (tmp_path / "in" / "round").symlink_to("round")
    (tmp_path / "alias").symlink_to("in")
    return tmp_path


@pytest.mark.parametrize("path", ["f", "@/in/f", "./sub/../f", "@/in/../in/f", "sub/f", "link", "@/alias/f", "@/in/f/", "no-such"])
@pytest.mark.parametrize("directory", ["@/in", "@/alias", "@/in/", "@/in/sub/..", "/"])
def test_files_in_the_folder_are_read(path: str, directory: str, folder: Path) -> None:
    if directory == "/" and not path.startswith("@"):
        path = f"@/in/{path}"
    file = SignalFile(path.replace("@", str(folder)), directory.replace("@", str(folder)))
    assert file.inside
    assert file.take() == ([] if path.endswith("no-such") else [ONE])


@each_case("path", ["../out", "@/out", "@/in2/f", "escape", "away/f", "/etc/passwd", "round", "a\0b", "sub/../../out"])
def test_files_outside_of_the_folder_are_not_touched(path: str, folder: Path) -> None:
    file = SignalFile(path.replace("@", str(folder)), str(folder / "in"))
    assert not file.inside
    with pytest.raises(PermissionError, match=r"signal\.file\.directory"):
        file.take()
    assert (folder / "out").read_bytes() == (folder / "in2" / "f").read_bytes() == ONE + b"\n"


def test_the_folder_is_the_working_directory_unless_it_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "in")
    assert SignalFile("f").take() == [ONE]
    assert not SignalFile("../out").inside
    assert not SignalFile(str(folder / "out")).inside


def test_a_link_that_is_made_later_is_not_followed(folder: Path) -> None:
    file = SignalFile("f", str(folder / "in"))
    assert file.inside
    (folder / "in" / "f").unlink()
    (folder / "in" / "f").symlink_to("../out")
    with pytest.raises(PermissionError):
        file.take()


def channels(taken: list[Signal], folder: Path, file: str) -> SignalChannels:
    config = shop_config(signal_enabled_channels="file,http", signal_file=file)
    context = task_context(config, signal_directory=str(folder))
    return SignalChannels(context, config, taken.append)


async def test_a_file_outside_of_the_folder_switches_its_channel_off_only(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    taken: list[Signal] = []
    made = channels(taken, folder / "in", str(folder / "out"))
    async with AsyncExitStack() as stack:
        await made.start(stack)
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("signals file")]
    [warning] = [log_line(record) for record in caplog.records if record.levelno >= logging.WARNING]
    assert "signal channel off channel=file" in warning
    assert "signal.file.directory" in warning


async def test_a_bad_line_is_reported_once_and_signals_are_read_when_it_is_removed(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    taken: list[Signal] = []
    path = folder / "in" / "f"
    path.write_bytes(b"secret\n")
    polls = asyncio.Event()
    looked = 0
    real = SignalFile.take

    def take(file: SignalFile) -> list[bytes]:
        nonlocal looked
        looked += 1
        if looked == 5:
            path.write_bytes(ONE + b"\n")
        return real(file)

    def put(signal: Signal) -> None:
        taken.append(signal)
        polls.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SignalFile, "take", take)
        made = channels(taken, folder / "in", "f")
        made._put = put
        async with AsyncExitStack() as stack:
            await made.start(stack)
            async with asyncio.timeout(30):
                await polls.wait()
    assert [signal.id for signal in taken] == ["1"]
    assert [log_line(record) for record in caplog.records if record.levelno >= logging.WARNING] == [
        'signal file not read channel=file file=f reason=line 1 is not a JSON object with the texts "id" and "type"'
    ]
