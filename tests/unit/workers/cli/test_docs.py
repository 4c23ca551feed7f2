"""``understudy docs``, and that the messages of the program name pages which it knows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.project import DOCS, ROOT
from workers.__main__ import main
from workers.cli import docs

PACKAGES = ("connector", "connect_api", "workers")


def test_the_list_names_folder_and_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["folder"] == str(DOCS)
    assert {page["name"] for page in listed["pages"]} == {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    assert {"name": "types", "title": "Types"} in listed["pages"]


def test_the_list_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "--output", "text"]) == 0
    assert re.search(r"^types +Types *$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("name", ["extending", "extending.md", "docs/extending.md", "tutorials/outbox"])
def test_a_page_is_its_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", name]) == 0
    page = DOCS / f"{name.removeprefix('docs/').removesuffix('.md')}.md"
    assert capsys.readouterr().out == page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["nonsense", "../README", "/etc/passwd"])
def test_another_name_is_a_wrong_call(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", name]) == 2
    assert f"There is no page {name}. `understudy docs` lists the pages" in capsys.readouterr().err


def test_source_without_the_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "pages"
    text.write_text("../../docs")
    monkeypatch.setattr(docs, "FOLDER", text)
    for words in (["docs"], ["docs", "config"]):
        assert main(words) != 0
        assert f"{text} has no pages" in capsys.readouterr().err


def test_messages_name_pages_by_the_command() -> None:
    named = {
        page
        for package in PACKAGES
        for module in (ROOT / package).rglob("*.py")
        for page in re.findall(r"`understudy docs ([a-z/-]+)`", module.read_text(encoding="utf-8"))
    }
    assert {"config", "extending", "spark"} <= named
    assert [page for page in named if not (DOCS / f"{page}.md").is_file()] == []
