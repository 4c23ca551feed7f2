"""Patterns that backtrack, matched at once, without the process and the time limit of :mod:`connector.io.regex_process`."""

from __future__ import annotations

import re
from collections.abc import Sequence


def backtrack(patterns: Sequence[str], names: Sequence[str]) -> list[list[int]]:
    """A :class:`connector.ports.Backtracking`."""
    programs = [re.compile(pattern) for pattern in patterns]
    return [[at for at, name in enumerate(names) if program.fullmatch(name)] for program in programs]
