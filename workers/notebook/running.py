"""Runs cells one after the other, as one program, and keeps what each printed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

from workers.notebook.page import Cell


class _Both(io.StringIO):
    """Keeps what is written, and writes it on at once."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str, /) -> int:
        self._stream.write(text)
        self._stream.flush()
        return super().write(text)


def run_cells(cells: Sequence[Cell], script: Path, stream: TextIO) -> list[str]:
    """What each cell printed, empty for prose; it goes to ``stream`` too, as it comes.

    The cells share their names. Errors come through; their traces name the script's own lines.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    outputs = []
    for cell in cells:
        kept = _Both(stream)
        if not cell.prose:
            code = compile("\n" * (cell.line - 1) + cell.text, str(script), "exec")
            with redirect_stdout(kept):
                exec(code, names)  # noqa: S102 - the project's own script
        outputs.append(kept.getvalue())
    return outputs
