"""The command line as a whole: help, completion, exit codes, and what is imported when."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workers.__main__ import main
from workers.cli.commands import COMMANDS, command_line


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in ("worker", *COMMANDS))


def test_the_version_has_its_former_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("(Kafka Connect 4.3.0, Debezium 3.6.3.Final)")


@pytest.mark.parametrize("words", [[], ["nonsense"], ["status", "--nonsense"], ["tail", "a", "b", "c"], ["snapshot", "shop"]])
def test_a_wrong_call_ends_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "Usage: understudy" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"Usage: understudy {name}" in capsys.readouterr().out


def test_the_worker_is_a_word_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    # `understudy -v worker` cannot start one: only the first word keeps the start from importing the command line.
    assert command_line(["worker", "x.properties"], "about") == 2
    assert "`understudy worker x.properties`" in capsys.readouterr().err


def test_a_failure_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("preflight=nonsense\n")
    assert main(["migrate", "--from", str(file)]) == 1
    assert capsys.readouterr().err == (
        "understudy: Invalid value nonsense for the worker property preflight: It must be warn, refuse or off\n"
    )


def called(*words: str | bytes, shell: str = '"$@"', **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Call the command in a process of its own, by a line of the shell in which ``"$@"`` is the call."""
    call = [sys.executable, "-P", "-m", "workers", *words]
    return subprocess.run(["sh", "-c", shell, "sh", *call], env={**os.environ, **environment}, capture_output=True, check=False)


def test_an_argument_that_is_not_utf_8_is_refused_unless_it_is_a_file(tmp_path: Path) -> None:
    done = called("status", b"a\xffb", "--url", "http://127.0.0.1:1")
    assert (done.returncode, done.stderr) == (2, b"Error: Argument 2 is not UTF-8.\n")
    file = os.fsencode(tmp_path) + b"/\xff.json"
    Path(os.fsdecode(file)).write_text('{"name": "shop"}')
    done = called("check", file)
    assert (done.returncode, json.loads(done.stdout)["accepted"]) == (1, False)


def test_a_closed_or_narrow_output_is_no_failure(tmp_path: Path) -> None:
    file = tmp_path / "shop.json"
    file.write_text('{"name": "Zoë →"}')
    closed = called("check", str(file), shell='"$@" >&-')
    assert (closed.returncode, closed.stderr) == (1, b"")
    narrow = called("check", str(file), "-o", "text", PYTHONIOENCODING="latin-1")
    assert (narrow.returncode, narrow.stderr) == (1, b"")
    assert "Zoë \\u2192 would be refused".encode("latin-1") in narrow.stdout


def test_a_failure_moves_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("preflight=a\x07b\x9bc\n")
    assert main(["migrate", "--from", str(file)]) == 1
    assert main(["check", f"{tmp_path}/\x07\x9b"]) == 2
    told = capsys.readouterr().err
    assert told.count("\\u0007") == 2
    assert not {"\x07", "\x9b"} & set(told)


def test_completion_offers_commands_options_and_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def completed(*words: str) -> set[str]:
        """What the shell is offered for the last of ``words``."""
        monkeypatch.setenv("COMP_WORDS", " ".join(("understudy", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit, match="0"):
            main([])
        return {line.partition(",")[2] for line in capsys.readouterr().out.splitlines()}

    monkeypatch.setenv("_UNDERSTUDY_COMPLETE", "bash_complete")
    assert completed("s") == {"status", "snapshot", "signal"}
    assert {"--alter", "--reset", "--url"} <= completed("offsets", "--")
    assert completed("tail", "topic", "--from", "") == {"beginning", "end"}


def test_a_worker_start_does_not_import_the_command_line() -> None:
    start = "from workers.__main__ import main\ntry: main(['worker', '--help'])\nexcept SystemExit: pass"
    script = f"import sys\n{start}\nprint(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    assert "'workers.settings.worker_settings'" in done.stdout
    assert "'workers.cli" not in done.stdout
    assert "'rich" not in done.stdout


def test_a_command_does_not_import_the_web_framework() -> None:
    script = "import sys\nfrom workers.__main__ import main\nmain(['status', '--help'])\nprint('fastapi' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nFalse\n")
