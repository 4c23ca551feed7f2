"""Runs cells in order as one program, and returns the output of each."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO

from workers.lab.notebook.page import Cell


class _Both(io.StringIO):
    """Keeps the written text, and writes it to another stream at once."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str, /) -> int:
        self._stream.write(text)
        self._stream.flush()
        return super().write(text)


def run_cells(cells: Sequence[Cell], script: Path, stream: TextIO) -> list[str]:
    """The output of each cell, empty for prose. It is also written to ``stream`` at once.

    The cells share their names. Errors are not caught; their traces show the lines of the script.
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
