"""Which classes of users a worker may load: the value of its property ``plugin.packages``.

A configuration may name any class, and whoever may write configurations must not thereby choose what this process imports. So the
worker's file lists the packages, and nothing else is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Final

PROPERTY: Final = "plugin.packages"

_ENTRY: Final = re.compile(r"\w+(?:[.-]\w+)*")
"""A dotted package, a distribution, or an entry point."""
_RUNS: Final = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class AllowedPlugins:
    """The listed names; without any, nothing is allowed.

    Each allows the package of that name with all that is below it, and the entry points of that name or of the distribution of that name.
    """

    names: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> AllowedPlugins:
        """Read the names, which have commas between them. Raises ValueError that names the first that cannot be one."""
        names = [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            if not _ENTRY.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of a package, a distribution or an entry point")
        return cls(frozenset(names))

    def module(self, name: str) -> bool:
        """Whether the module ``name`` is a listed package or lies below one. Only whole parts of the name count."""
        parts = name.split(".")
        # A module such as __main__ is a program: it is not made to be imported.
        if not all(part.isidentifier() and not part.startswith("__") for part in parts):
            return False
        return any(".".join(parts[:count]) in self.names for count in range(1, len(parts) + 1))

    def entry_point(self, point: EntryPoint) -> bool:
        """Whether the entry point, or the distribution that it comes with, is listed."""
        return point.name in self.names or (point.dist is not None and _same(point.dist.name) in map(_same, self.names))

    def chosen(self, points: Iterable[EntryPoint]) -> EntryPoint | None:
        """The first of ``points`` that is allowed."""
        return next(filter(self.entry_point, points), None)


NO_PLUGINS: Final = AllowedPlugins()


def _same(distribution: str) -> str:
    """The form in which names of distributions are compared (PEP 503)."""
    return _RUNS.sub("-", distribution).lower()
