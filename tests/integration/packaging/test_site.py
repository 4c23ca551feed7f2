"""The documentation as a site."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.project import DOCS, ROOT

pytestmark = pytest.mark.long


def build(config: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "mkdocs", "build", "--config-file", str(config), "--site-dir", str(target)]
    return subprocess.run(command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", target)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    return target


def test_every_page_is_on_the_site_and_can_be_searched(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0].removesuffix("/") for entry in index["docs"]}
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")} - {"index", "decisions/README"}
    assert {*pages, "", "decisions", "CHANGELOG", "CONTRIBUTING", "SECURITY"} == found


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(?:https?:)?//[^"]*"', text) == [], page


@pytest.mark.parametrize("link", ["config.md#no-such-anchor", "no-such-page.md"])
def test_a_broken_link_ends_the_build(link: str, tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    (tmp_path / "workers" / "lab").mkdir(parents=True)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "workers/lab/site_pages.py", "mkdocs.yml"):
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[x]({link})\n")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 1
    assert link in done.stderr


def test_the_settings_are_read_by_mkdocs_alone() -> None:
    text = re.sub(r"!!python\S+ ", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    settings = yaml.safe_load(text)
    assert settings["strict"]
    assert settings["theme"]["font"] is False
