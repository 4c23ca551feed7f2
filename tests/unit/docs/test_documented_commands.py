"""Every command line of the pages is one that exists, and is run by a test or listed here with the reason why none runs it."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlsplit

import click
import pytest
from starlette.routing import Match, Route

from tests.support.console_site import shop, site
from tests.support.each_case import each_case
from tests.support.project import ROOT
from workers.bulk import command as bulk_snapshot
from workers.cli.commands import Commands
from workers.lab.bench.__main__ import options
from workers.spark.commands import _parser

PAGES: Final = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE: Final = re.compile(r"^ *```console\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_COMMENT: Final = re.compile(r"\s{2,}#.*$")
_SETTING: Final = re.compile(r"[A-Z_]+=\S* +")

CLI: Final = "tests/integration/workers/test_command_line.py::"
CALLS: Final = "tests/contract/test_openapi.py::test_calls_of_a_worker_on_kafka"
DEMO: Final = "tests/integration/workers/test_demo.py::"
WHEEL: Final = "tests/integration/packaging/test_distributions.py::"
RUN: Final[Mapping[str, str]] = {
    "understudy docs": "tests/unit/workers/cli/test_docs.py::test_the_list_names_folder_and_titles",
    "understudy check ": f"{CLI}test_check_looks_at_the_database_without_a_worker",
    "understudy status": f"{CLI}test_status_offsets_snapshot_and_tail",
    "understudy offsets ": f"{CLI}test_status_offsets_snapshot_and_tail",
    "understudy snapshot ": f"{CLI}test_status_offsets_snapshot_and_tail",
    "understudy tail ": f"{CLI}test_status_offsets_snapshot_and_tail",
    "understudy signal ": f"{CLI}test_a_signal_without_rest",
    "understudy migrate ": "tests/integration/workers/test_migrate.py::test_what_migrate_foretells_comes_true",
    "understudy worker": f"{WHEEL}test_the_installed_worker_answers",
    "understudy --version": f"{WHEEL}test_the_command_starts",
    "understudy quickstart up": f"{DEMO}test_down_ends_what_up_left",
    "understudy quickstart down": f"{DEMO}test_down_ends_what_up_left",
    "understudy quickstart": f"{DEMO}test_the_demo_shows_every_change_and_ends_well",
    "understudy >": "tests/unit/workers/cli/test_commands.py::test_completion_offers_commands_options_and_words",
    "understudy-spark bulk-snapshot ": (
        "tests/integration/bulk/test_bulk_snapshot.py::test_the_command_takes_the_initial_snapshot_and_the_connector_continues"
    ),
    "understudy-spark mirror ": "tests/integration/tutorials/test_unwrap.py::test_the_warehouse_equals_the_source",
    "make demo": f"{DEMO}test_the_demo_shows_every_change_and_ends_well",
    "make up": f"{DEMO}test_down_ends_what_up_left",
    "make down": f"{DEMO}test_down_ends_what_up_left",
    "pip install": f"{WHEEL}test_the_command_starts",
    "python -m tests.support.counted_workload": "tests/integration/workers/test_boards.py::test_the_counts_are_those_of_debezium",
    "python -m tests.support.compare_counts": "tests/unit/workers/telemetry/test_counts_recorded.py::test_the_recorded_counts_are_equal",
    "python -m build": f"{WHEEL}test_the_wheel_has_every_file_of_the_packages_and_no_other",
    "python3 -m venv": f"{WHEEL}test_the_command_starts",
    "curl": CALLS,
}
"""Beginning of a command line, without its variables and the folder of its program → the test that runs this command, or its like."""
NOT_RUN: Final[Mapping[str, str]] = {
    "make setup": "the tests run in what it makes",
    "make check": ".ci/run runs it",
    "make test": ".ci/run runs all three targets",
    "make bench": "it takes minutes; its calls are tested in tests/unit/workers/lab/bench",
    "python -P -m workers.lab.bench": "it takes minutes; its options are parsed here",
    "python -m workers.lab.bench": "it takes minutes; its options are parsed here",
    "python -P -m workers.lab.board": "it needs a Prometheus; tests/unit/workers/lab/board calls it with answers of a fake one",
    "python -m tests.support.row_bench": "it is a measurement",
    "python -m tests.support.scrape_bench": "it is a measurement",
    "python -m tests.support.record ": "it needs a Debezium of the reader's",
    "python -m pytest": "it runs the tests",
    "pip install pre-commit": "it is for contributors, and installs hooks into the repository",
    "pre-commit install": "it is for contributors, and installs hooks into the repository",
    "docker ": "there is no container engine where the tests run; test_image.py runs the steps of the recipe",
    "kubectl ": "there is no cluster where the tests run; test_kubernetes.py checks the manifests",
    "systemctl ": "there is no systemd where the tests run; test_systemd.py checks the unit",
    "journalctl ": "there is no systemd where the tests run; test_systemd.py checks the unit",
    "cp ": "test_systemd.py checks the file",
    "keytool ": "a program of Java, for stores of the reader's",
    "openssl ": "another project's program, for keys of the reader's",
    "kafka-": "a program of Kafka, which the embedded Kafka has no scripts for",
    "echo ": "the shell's own",
    "curl -u ops": "tests/integration/workers/test_mbeans.py reads and calls Jolokia",
    "curl -sS -X PUT -H 'Content-Type: application/json' -d '{\"compatibility\"": "it asks the registry; the tutorial's test does the same",
}
"""Beginning of a command line → the reason why no test runs it."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line of a page, on one line, without its comment."""

    page: str
    text: str

    @property
    def bare(self) -> str:
        """Without variables before the program, and without the program's folder."""
        text = self.text
        while found := _SETTING.match(text):
            text = text[found.end() :]
        program, space, rest = text.partition(" ")
        return program.rpartition("/")[2] + space + rest

    @property
    def parts(self) -> list[list[str]]:
        """The words of each program of a pipeline."""
        lexer = shlex.shlex(self.bare, posix=True, punctuation_chars="|>")
        lexer.whitespace_split = True
        found: list[list[str]] = [[]]
        for word in lexer:
            if word == "|":
                found.append([])
            elif word == ">":
                # What follows is a file.
                next(lexer)
            else:
                found[-1].append(word)
        return found


def commands() -> Iterator[Command]:
    """All command lines. One continues while it ends in a backslash or a pipe, or in the middle of a quoted text."""
    for page in PAGES:
        for block in _FENCE.findall(page.read_text(encoding="utf-8")):
            lines = iter(block.splitlines())
            for line in lines:
                if line.lstrip().startswith("$ "):
                    text = _COMMENT.sub("", line.lstrip()[2:])
                    while text.endswith(("\\", "|")) or text.count("'") % 2:
                        text = text.removesuffix("\\") + " " + next(lines).strip()
                    yield Command(page.relative_to(ROOT).as_posix(), text.strip())


ALL: Final = list(commands())


def beginnings(command: Command) -> list[str]:
    return [beginning for beginning in (*RUN, *NOT_RUN) if command.bare.startswith(beginning)]


def test_there_are_commands() -> None:
    assert len(ALL) > 100


def test_every_command_is_run_by_a_test_or_listed_with_a_reason() -> None:
    assert [command for command in ALL if not beginnings(command)] == []


def test_every_entry_is_of_some_command() -> None:
    used = {max(beginnings(command), key=len) for command in ALL}
    assert (RUN.keys() | NOT_RUN.keys()) - used == set()


@each_case("test", sorted(set(RUN.values())))
def test_every_named_test_exists(test: str) -> None:
    file, _, function = test.partition("::")
    assert re.search(rf"^(async )?def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def words_after(program: str, *more: str) -> list[list[str]]:
    """The words that follow a program with these first words, of every call of it."""
    begun = (program, *more)
    return [part[len(begun) :] for command in ALL for part in command.parts if tuple(part[: len(begun)]) == begun]


def test_every_call_of_understudy_has_a_command_and_options_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("shop.json", "connect-distributed.properties", "worker-1.properties", "worker-2.properties"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    group, context = Commands("understudy"), click.Context(Commands("understudy"))
    calls = words_after("understudy")
    assert len(calls) > 20
    for name, *words in (call for call in calls if call and call[0] != "--version"):
        command = group.get_command(context, name)
        assert command is not None, name
        command.make_context(name, words)


def test_every_call_of_the_spark_command_has_options_that_exist() -> None:
    calls = words_after("understudy-spark")
    assert calls
    for words in calls:
        _parser([bulk_snapshot]).parse_args(words)


def test_every_call_of_the_benchmark_has_options_that_exist() -> None:
    calls = [*words_after("python", "-P", "-m", "workers.lab.bench"), *words_after("python", "-m", "workers.lab.bench")]
    assert len(calls) > 5
    for words in calls:
        options(words)


def test_every_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {word for words in words_after("make") for word in words} <= targets


def test_every_path_and_module_exists() -> None:
    for words in words_after("python", "-m", "pytest"):
        assert [word for word in words if word.startswith("tests") and not (ROOT / word).exists()] == []
    for words in words_after("python", "-m"):
        assert importlib.util.find_spec(words[0]) is not None, words[0]
    named = [
        word.removeprefix("@") for command in ALL for part in command.parts for word in part if word.removeprefix("@").startswith("docs/")
    ]
    assert named
    assert [word for word in named if not (ROOT / word).exists()] == []


async def test_every_call_of_curl_is_one_of_the_interface() -> None:
    routes = [cast("Route", route) for route in site(shop()).routes]
    unknown = []
    for words in words_after("curl"):
        url = next(word for word in words if word.startswith("http"))
        path = urlsplit(url).path
        if "jolokia" in path or urlsplit(url).port == 8081:
            continue
        method = words[words.index("-X") + 1] if "-X" in words else "POST" if "-d" in words else "GET"
        scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
        if not any(route.matches(scope)[0] is Match.FULL for route in routes):
            unknown.append(f"{method} {path}")
    assert unknown == []
