"""A hook of MkDocs for ``make site``: it adds the pages of the repository's root, and fits the text of all pages to the site.

The pages are written for readers of the repository. Links from them into the code have no target on the site and become text. MkDocs reads
an indented block of a numbered list only with four spaces.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
ROOT_PAGES: Final = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_LINK: Final = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE: Final = re.compile(r"^\s*```")
_NUMBERED: Final = re.compile(r"^\d+\. ")


def on_files(files: Any, config: Any) -> Any:
    """MkDocs' event: add the pages of the root."""
    from mkdocs.structure.files import File  # noqa: PLC0415 (of the extra docs)

    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 - MkDocs' names
    """MkDocs' event: the text of a page for the site."""
    place = page.file.src_uri
    # Where the page lies in the repository.
    folder = "" if place in ROOT_PAGES else posixpath.join("docs", posixpath.dirname(place))
    return indented(linked(markdown, folder, posixpath.dirname(place), lambda path: files.get_file_from_path(path) is not None))


def linked(text: str, folder: str, site_folder: str, known: Callable[[str], bool]) -> str:
    """``text`` of a page in ``folder`` of the repository and ``site_folder`` of the site, with its links for the site.

    ``known`` says whether the site has a file. A link to another file or folder becomes its words. Blocks of code stay.
    """

    def link(match: re.Match[str]) -> str:
        bang, words, target = match.groups()
        path, hash_, anchor = target.partition("#")
        if not path or "://" in target or target.startswith("mailto:"):
            return match[0]
        place = posixpath.normpath(posixpath.join(folder, path))
        on_site = place.removeprefix("docs/") if place.startswith("docs/") or place in ROOT_PAGES else None
        # MkDocs reports a missing page itself.
        if on_site is None or not (known(on_site) or on_site.endswith(".md")):
            return words
        return f"{bang}[{words}]({posixpath.relpath(on_site, site_folder or '.')}{hash_}{anchor})"

    # A link may be broken over two lines, so whole runs of text are read.
    return "".join(part if code else _LINK.sub(link, part) for code, part in _parts(text))


def indented(text: str) -> str:
    """``text`` with one space more before the lines that belong to an item of a numbered list."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        if _NUMBERED.match(line):
            inside = True
        elif line and not line.startswith("   "):
            inside = False
        lines.append(f" {line}" if inside and line.startswith("   ") else line)
    return "\n".join(lines)


def _parts(text: str) -> list[tuple[bool, str]]:
    """The text in order: (whether it is a block of code, the part)."""
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line) is not None
        if fence and not parts[-1][0]:
            parts.append((True, [line]))
        elif fence:
            parts[-1][1].append(line)
            parts.append((False, []))
        else:
            parts[-1][1].append(line)
    return [(code, "".join(each)) for code, each in parts]
