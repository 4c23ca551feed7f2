"""The README in other languages has the same parts, commands, links and tables as the English one."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.support.project import ROOT

ENGLISH: Final = (ROOT / "README.md").read_text(encoding="utf-8")
LANGUAGES: Final = ("ja", "zh")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)


def links(text: str) -> list[str]:
    return sorted(target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("README"))


def first_cells(text: str) -> list[str]:
    """The first cells of all tables but their heads: commands, variables and pages."""
    return [cell for cell in re.findall(r"^\| (\S[^|]*?) \|", text, re.MULTILINE) if cell[0] in "`["]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_the_same_parts(language: str) -> None:
    text = (ROOT / f"README.{language}.md").read_text(encoding="utf-8")
    assert blocks(text) == blocks(ENGLISH)
    assert links(text) == links(ENGLISH)
    assert first_cells(text) == first_cells(ENGLISH)
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == len(re.findall(r"^## ", ENGLISH, re.MULTILINE))
    # Versions and sizes too.
    assert sorted(set(re.findall(r"\d[\d.]+(?:\.Final)?", text))) == sorted(set(re.findall(r"\d[\d.]+(?:\.Final)?", ENGLISH)))


def test_each_language_names_the_others() -> None:
    for language in ("", *LANGUAGES):
        name = f"README.{language}.md" if language else "README.md"
        text = (ROOT / name).read_text(encoding="utf-8")
        others = {f"README.{other}.md" if other else "README.md" for other in ("", *LANGUAGES)} - {name}
        assert set(re.findall(r"\]\((README[^)]*)\)", text.splitlines()[2])) == others
