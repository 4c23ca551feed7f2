"""Functions that are generated as source, for one table or one schema each, with their source at hand for tracebacks and profiles."""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Sequence
from typing import Any

Generated = tuple[list[str], dict[str, object]]
"""The lines of a function's source, and the names that it uses."""


class _Source(Sequence[str]):
    """The lines of a generated function for :mod:`linecache`, generated again whenever a traceback or a profile needs them."""

    __slots__ = ("_generate",)

    def __init__(self, generate: Callable[[], Generated]) -> None:
        self._generate = generate

    def __len__(self) -> int:
        return len(self._generate()[0])

    def __getitem__(self, at: Any) -> Any:
        return [line + "\n" for line in self._generate()[0]][at]


def define(title: str, name: str, generate: Callable[[], Generated]) -> object:
    """Run the source that ``generate`` makes, and return the object that it defines as ``name``; ``title`` replaces the file name.

    :mod:`linecache` finds the source while the function exists, so that tracebacks can show it. Of several functions with the same title,
    it finds the source of the newest one.
    """
    lines, names = generate()
    file = f"<{title if title.isprintable() else title.encode('unicode_escape').decode()}>"
    # The source contains no data: repr quotes the names, and cells have numbers.
    exec(compile("\n".join(lines), file, "exec"), names)  # noqa: S102
    # Remove the function from its globals. It is then in no reference cycle and is freed with its encoder.
    function = names.pop(name)
    # linecache does not check the file of an entry without a time.
    entry = (0, None, _Source(generate), file)
    linecache.cache[file] = entry  # type: ignore[assignment]  # typeshed declares a list, and linecache uses a sequence
    weakref.finalize(function, _forget, file, entry).atexit = False
    return function


def _forget(file: str, entry: object) -> None:
    """Remove the source of a function that was freed, unless a newer function has replaced it."""
    if linecache.cache.get(file) is entry:
        del linecache.cache[file]
