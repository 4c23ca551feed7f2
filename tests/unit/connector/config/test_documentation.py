"""``docs/config.md`` is made from the table."""

from connector.config.documentation import render
from connector.config.keys import ALIASES, FAMILIES, KEYS
from tests.support.project import DOCS

PAGE = DOCS / "config.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m connector.config.documentation > docs/config.md"


def test_everything_is_on_the_page() -> None:
    page = render()
    names = [key.name.replace("|", "\\|") for key in KEYS] + [family.shown for family in FAMILIES] + [alias.old for alias in ALIASES]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_row_of_a_table_is_as_wide_as_its_head() -> None:
    width = 0
    for line in render().splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = line.replace("\\|", "").count("|")
        width = width or cells
        assert cells == width, line
