"""The notebook-style page: its creation from a script of cells, and that the page in docs matches the present script."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Final

import pytest

from tests.support.project import ROOT
from workers.lab.notebook.page import PICTURES, Cell, cells_of, fenced, missing, page_text
from workers.lab.notebook.running import run_cells

DOCS: Final = ROOT / "docs"
SCRIPT: Final = ROOT / "workers" / "lab" / "notebook" / "shop.py"
LARGEST: Final = 60_000
SVG: Final = "{http://www.w3.org/2000/svg}"
SMALL: Final = '''"""Not on the page."""

# %% [markdown]
# # A page
#
# Words with `code`.

# %%
one = 1
print(one)

# %% ![A line](pictures/line.svg)
two = one + one


# %%
def three() -> int:
    return one + two


print(three())
'''


def script_cells() -> list[Cell]:
    return cells_of(SCRIPT.read_text(encoding="utf-8"))


def test_a_script_is_cut_into_cells() -> None:
    prose, first, drawn, last = cells_of(SMALL)
    assert prose == Cell(4, "# A page\n\nWords with `code`.", prose=True)
    assert first == Cell(9, "one = 1\nprint(one)")
    assert drawn == Cell(13, "two = one + one", link="![A line](pictures/line.svg)")
    assert (drawn.picture, first.picture) == ("line.svg", None)
    assert last == Cell(17, "def three() -> int:\n    return one + two\n\n\nprint(three())")


def test_blank_lines_before_code_are_no_part_of_it() -> None:
    assert cells_of("# %%\n\n\nlate = 1\n\n# %%\n") == [Cell(4, "late = 1"), Cell(7, "")]


def test_a_cell_s_line_is_its_line_in_the_script() -> None:
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    for cell in script_cells():
        assert cell.text.splitlines()[0] == lines[cell.line - 1].removeprefix("# " if cell.prose else "")


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("# %% [markdown]\n# fine\nprint()\n", "Line 3 is no comment"),
        ("# %% [markdown]\n#no blank\n", "Line 2 is no comment"),
        ("\n# %% [mark]\n", "Line 2 has '[mark]'"),
        ("# %% ![](pictures/a.svg)\n", "Line 1 has"),
        ("# %% ![elsewhere](other/a.svg)\n", "Line 1 has"),
    ],
)
def test_a_fault_in_a_script_is_named(script: str, fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)):
        cells_of(script)


def test_a_page_is_prose_code_output_and_pictures() -> None:
    page = page_text(cells_of(SMALL), ["", "\n1  \n", "", "3\n"])
    assert page == (
        "# A page\n\nWords with `code`.\n\n"
        "```python\none = 1\nprint(one)\n```\n\n```text\n1\n```\n\n"
        "```python\ntwo = one + one\n```\n\n![A line](pictures/line.svg)\n\n"
        "```python\ndef three() -> int:\n    return one + two\n\n\nprint(three())\n```\n\n```text\n3\n```\n"
    )


def test_indented_output_keeps_its_columns() -> None:
    assert "```text\n   id\n=  1\n```" in page_text([Cell(1, "show()")], ["\n   id\n=  1\n\n"])


def test_output_cannot_end_its_fence() -> None:
    assert fenced("text", "a\n```\nb") == "````text\na\n```\nb\n````"
    assert fenced("text", "a ``` b") == "```text\na ``` b\n```"


def test_cells_are_one_program_whose_outputs_are_kept_apart() -> None:
    stream = io.StringIO()
    assert run_cells(cells_of(SMALL), SCRIPT, stream) == ["", "1\n", "", "3\n"]
    assert stream.getvalue() == "1\n3\n"


def test_a_failing_cell_reports_the_line_of_the_script() -> None:
    with pytest.raises(ZeroDivisionError) as failure:
        run_cells(cells_of(SMALL.replace("two = one + one", "two = one / 0")), Path("small.py"), io.StringIO())
    last = failure.traceback[-1]
    assert (str(last.path), last.lineno + 1) == ("small.py", 13)


def test_pictures_that_were_not_drawn_are_named(tmp_path: Path) -> None:
    assert missing(cells_of(SMALL), tmp_path) == ["line.svg"]
    (tmp_path / "line.svg").touch()
    assert missing(cells_of(SMALL), tmp_path) == []


def test_the_page_was_made_of_the_present_script() -> None:
    page = (DOCS / "spark-notebook.md").read_text(encoding="utf-8")
    without_outputs = re.sub(r"^(`{3,})text\n.*?\n\1\n\n?", "", page, flags=re.DOTALL | re.MULTILINE)
    cells = script_cells()
    assert without_outputs.rstrip() == page_text(cells, [""] * len(cells)).rstrip(), "run: make notebook"


def test_cells_draw_the_pictures_that_they_link() -> None:
    for cell in script_cells():
        assert cell.picture is None or f'PICTURES / "{cell.picture}"' in cell.text


def test_the_pictures_are_there_small_and_without_a_date() -> None:
    drawn = {cell.picture for cell in script_cells() if cell.picture is not None}
    assert {path.name for path in (DOCS / PICTURES).glob("*.svg")} == drawn
    for name in drawn:
        text = (DOCS / PICTURES / name).read_text(encoding="utf-8")
        assert len(text.encode()) < LARGEST
        picture = ET.fromstring(text)
        assert picture.tag == f"{SVG}svg"
        assert not [part.tag for part in picture.iter() if part.tag.endswith("date")]
        # Title, axes and legend are letters that can be searched.
        assert len(list(picture.iter(f"{SVG}text"))) > 5
