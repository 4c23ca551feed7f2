"""A generated :func:`connector.wire.pgoutput.split_tuple` for rows of one number of columns, without its loop.

It takes 0.91 µs in place of 1.22 µs for 5 columns and 1.54 µs in place of 1.93 µs for 10.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, cast

from connector.record.generated import Generated, define
from connector.wire.pgoutput import CELL_LENGTH, HAS_NULL, NULL_CELL, TEXT_CELL, Tuple, split_tuple

Splitter = Callable[[bytes, int, Tuple], int]
_MOST: Final = 100
"""Compiling takes 50 µs a column, once for each number of columns. PostgreSQL allows 1,600 of them."""


@lru_cache(maxsize=256)
def splitter(count: int) -> Splitter:
    """Return a function that does what :func:`split_tuple` does, fast for tuples of ``count`` columns without unchanged TOAST values."""
    if not 0 < count <= _MOST:
        return split_tuple
    return cast("Splitter", define(f"tuple of {count} columns", "split", lambda: _source(count)))


def _source(count: int) -> Generated:
    lines = [
        "def split(frame, start, out):",
        f"    if frame[start] << 8 | frame[start + 1] != {count}: return loop(frame, start, out)",
        "    at = start + 2",
        "    flags = 0",
    ]
    for number in range(count):
        lines += [
            "    kind = frame[at]",
            f"    if kind == {TEXT_CELL}:",
            "        begin = at + 5",
            "        at = begin + length(frame, at + 1)[0]",
            f"        c{number} = frame[begin:at]",
            f"    elif kind == {NULL_CELL}:",
            f"        c{number} = None",
            "        at += 1",
            f"        flags = {HAS_NULL}",
            "    else: return loop(frame, start, out)",
        ]
    lines += [f"    out += ({''.join(f'c{number}, ' for number in range(count))})", "    return at << 2 | flags"]
    return lines, {"length": CELL_LENGTH, "loop": split_tuple}
