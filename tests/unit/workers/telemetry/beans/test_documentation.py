from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.each_case import each_case
from tests.support.project import ROOT
from workers.telemetry.beans.attribute import Row
from workers.telemetry.beans.documentation import _TABLES, page


def test_the_page_is_what_the_tables_say() -> None:
    assert (ROOT / "docs/monitoring.md").read_text() == page(), "run python -m workers.telemetry.beans.documentation > docs/monitoring.md"


def section(title: str) -> str:
    return page().partition(f"\n### {title}\n")[2].partition("\n### ")[0]


@each_case(("title", "rows"), [(title, rows) for title, _, _, rows in _TABLES], ids=[title for title, *_ in _TABLES])
def test_each_attribute_is_in_its_section_or_in_the_one_that_it_names(title: str, rows: Sequence[Row[Any]]) -> None:
    text = section(title)
    if "The attributes are those of" in text:
        text = section("The member's connections")
    assert [name for name in (row.name for row in rows) if f"`{name}`" not in text] == []
