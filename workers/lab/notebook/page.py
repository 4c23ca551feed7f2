"""A script of cells as Markdown.

The script has the "percent" format of VS Code, Spyder and Jupytext. A line ``# %% [markdown]`` begins prose, written as comments. A line
``# %%`` begins code. If the code draws a picture, the picture's link follows the ``# %%``, as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PICTURES: Final = "pictures"
"""The folder of the pictures, beside the page."""
_MARK: Final = re.compile(r"# %%(?: (.+))?")
_LINK: Final = re.compile(rf"!\[[^\]]+\]\({PICTURES}/([\w-]+\.svg)\)")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell. ``text`` is prose as Markdown, or the code. ``line`` is the number (from 1) of its first line in the script."""

    line: int
    text: str
    prose: bool = False
    link: str | None = None
    """The picture that the code draws, as Markdown."""

    @property
    def picture(self) -> str | None:
        """The name of the picture's file."""
        found = None if self.link is None else _LINK.fullmatch(self.link)
        return None if found is None else found[1]


def cells_of(script: str) -> list[Cell]:
    """The cells of a script, without the text before the first one. Raises ValueError that names the line of an error."""
    lines = script.splitlines()
    marks = [(at, found[1]) for at, line in enumerate(lines) if (found := _MARK.fullmatch(line)) is not None]
    ends = [at for at, _ in marks[1:]] + [len(lines)]
    return [_cell(at + 2, kind, lines[at + 1 : end]) for (at, kind), end in zip(marks, ends, strict=True)]


def _cell(line: int, kind: str | None, lines: Sequence[str]) -> Cell:
    text = "\n".join(lines)
    if kind == "[markdown]":
        for at, prose in enumerate(text.rstrip().splitlines()):
            if prose != "#" and not prose.startswith("# "):
                raise ValueError(f"Line {line + at} is no comment: prose follows '# '.")
        return Cell(line, "\n".join(prose[2:] for prose in lines).strip(), prose=True)
    if kind is not None and _LINK.fullmatch(kind) is None:
        raise ValueError(f"Line {line - 1} has {kind!r} after '# %%': write [markdown], or ![words]({PICTURES}/name.svg), or nothing.")
    blank = len(text) - len(text.lstrip("\n"))
    return Cell(line + blank, text.strip("\n"), link=kind)


def page_text(cells: Sequence[Cell], outputs: Sequence[str]) -> str:
    """The page: prose unchanged; code, then its output if any (one for each cell, empty for prose), then its picture."""
    parts: list[str] = []
    for cell, output in zip(cells, outputs, strict=True):
        if cell.prose:
            parts.append(cell.text)
            continue
        parts.append(fenced("python", cell.text))
        shown = "\n".join(line.rstrip() for line in output.splitlines()).strip("\n")
        if shown:
            parts.append(fenced("text", shown))
        if cell.link is not None:
            parts.append(cell.link)
    return "\n\n".join(parts) + "\n"


def fenced(language: str, text: str) -> str:
    """A code block whose fence is longer than any in the text (CommonMark, "Fenced code blocks")."""
    longest = max((len(ticks) for ticks in re.findall(r"^ *(`+)", text, re.MULTILINE)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def missing(cells: Sequence[Cell], folder: Path) -> list[str]:
    """The pictures that the cells name and the folder lacks."""
    return [cell.picture for cell in cells if cell.picture is not None and not (folder / cell.picture).is_file()]
