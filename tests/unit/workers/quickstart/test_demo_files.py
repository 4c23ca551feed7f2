"""The demo's files and commands, in the repository and in an installed wheel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from connector.extras import install_command
from workers.cli import quickstart
from workers.cli.failure import CommandError
from workers.quickstart.demo.files import PROJECT, call, example
from workers.quickstart.embedded.place import _default_cache


@pytest.mark.parametrize("name", ["shop.json", "shop.sql"])
def test_the_wheels_copies_are_the_documented_examples(name: str) -> None:
    documented, packaged = example(name, in_repository=True), example(name, in_repository=False)
    assert not documented.is_absolute()
    assert packaged.is_absolute()
    assert (PROJECT / documented).read_bytes() == (PROJECT / packaged).read_bytes()


def test_the_next_command_is_one_that_exists() -> None:
    assert call("down", in_repository=True) == "make down"
    assert call("down", in_repository=False) == "understudy quickstart down"


def test_an_installed_wheel_keeps_its_downloads_with_the_users_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _default_cache(tmp_path / "site-packages") == tmp_path / "understudy"
    assert _default_cache(PROJECT) == PROJECT / ".cache"


@pytest.mark.parametrize("action", ["run", "up", "down"])
def test_the_subcommand_is_the_demo(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []

    def main(words: list[str]) -> int:
        called.append(words)
        return 3

    monkeypatch.setattr("workers.quickstart.demo.__main__.main", main)
    assert quickstart.command.callback is not None
    assert quickstart.command.callback(action) == 3
    assert called == [[action]]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "workers.quickstart.demo.__main__", None)
    assert quickstart.command.callback is not None
    with pytest.raises(CommandError, match=re.escape(install_command("quickstart"))):
        quickstart.command.callback("up")
