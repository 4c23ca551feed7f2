"""``understudy docs``: the pages of the documentation, of which a wheel has copies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from workers.cli.failure import OK, CommandError
from workers.cli.output import Output, plain, with_output

FOLDER: Final = Path(__file__).with_name("pages").resolve()
"""The pages: in the repository this is the folder ``docs``, to which ``pages`` is a link."""


@click.command("docs")
@click.argument("page", required=False)
@with_output
def command(page: str | None, out: Output) -> int:
    """Show the page PAGE of the documentation, or the list of pages and their folder."""
    pages = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in sorted(FOLDER.rglob("*.md"))}
    if not pages:
        raise CommandError(f"{FOLDER} has no pages", "Read the folder docs of the source. For this link Git needs core.symlinks=true.")
    if page is not None:
        found = pages.get(page.removeprefix("docs/").removesuffix(".md"))
        if found is None:
            raise click.BadParameter(f"There is no page {page}. `understudy docs` lists the pages", param_hint="PAGE")
        click.echo(plain(found.read_text(encoding="utf-8")), nl=False)
        return OK
    titles = {name: _title(path) for name, path in pages.items()}
    if not out.text:
        out.json({"folder": str(FOLDER), "pages": [{"name": name, "title": title} for name, title in titles.items()]})
        return OK
    out.line(str(FOLDER))
    out.table(("page", "title"), list(titles.items()))
    return OK


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").rstrip()
