"""What a command prints: text in colours for a terminal, JSON for a pipe."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import click

if TYPE_CHECKING:
    from rich.console import Console

Form = Literal["auto", "text", "json"]

_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that could move a terminal's cursor, change its state, or hide text."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""What UTF-8 does not have; JSON can hold it as an escape."""
STYLES: Final[Mapping[str, str]] = {
    "RUNNING": "green",
    "PAUSED": "yellow",
    "STOPPED": "yellow",
    "UNASSIGNED": "yellow",
    "RESTARTING": "yellow",
    "FAILED": "bold red",
    "error": "bold red",
    "warning": "yellow",
    "ok": "green",
}
"""Words that have a colour wherever they are a whole cell of a table."""


def plain(text: str) -> str:
    """The text with escapes in place of the characters that a terminal would obey. Line ends and tabs stay."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Output:
    """Prints the answer of one command to ``stream``."""

    def __init__(self, form: Form = "auto", stream: IO[str] | None = None) -> None:
        self._stream = stream if stream is not None else sys.stdout
        self.text = form == "text" or (form == "auto" and self._stream.isatty())
        """Whether people read the answer; otherwise it is JSON."""
        # JSON is UTF-8, and ASCII is a part of it. A stream in memory has no encoding.
        encoding = str(getattr(self._stream, "encoding", None) or "utf-8")
        self._ascii = encoding.lower().replace("-", "") != "utf8"
        self._console: Console | None = None

    def json(self, value: object) -> None:
        """Print one JSON document, indented. Only for a pipe."""
        self._write_json(value, indent=2)

    def json_line(self, value: object) -> None:
        """Print one JSON document on one line, at once. Only for a pipe."""
        self._write_json(value, separators=(",", ":"))

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line for people."""
        from rich.text import Text  # noqa: PLC0415 (only a terminal needs it)

        self.console.print(Text(plain(text), style=style), soft_wrap=True)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table for people. Cells that are a word of :data:`STYLES` have its colour."""
        from rich import box  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=any(columns), header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(plain(cell), style=STYLES.get(cell.partition(" ")[0], "")) for cell in row))
        self.console.print(table)

    @property
    def console(self) -> Console:
        """The terminal."""
        if self._console is None:
            from rich.console import Console  # noqa: PLC0415

            self._console = Console(file=self._stream, highlight=False, markup=False, emoji=False)
        return self._console

    def _write_json(self, value: object, **form: Any) -> None:
        text = json.dumps(value, ensure_ascii=self._ascii, **form)
        if not self._ascii and _SURROGATE.search(text):
            text = json.dumps(value, **form)
        self._stream.write(text + "\n")
        self._stream.flush()


def with_output(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give the command the option ``--output`` and the argument ``out``, an :class:`Output`."""

    def collected(*, output: Form, **options: Any) -> Any:
        return command(out=Output(output), **options)

    collected.__doc__ = command.__doc__
    collected.__name__ = command.__name__
    chosen = click.Choice(["auto", "text", "json"])
    shown = "The form of the answer. auto: text on a terminal, JSON in a pipe."
    return click.option("-o", "--output", type=chosen, default="auto", show_default=True, help=shown, envvar="UNDERSTUDY_OUTPUT")(
        _with_options_of(command, collected)
    )


def _with_options_of(command: Callable[..., Any], collected: Callable[..., Any]) -> Callable[..., Any]:
    # click's decorators leave the parameters on the function until it becomes a command.
    collected.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    return collected
