"""The grammar of random Groovy scripts, which ``grammar.txt`` holds: what conditions of Filter and ContentBasedRouter are made of.

A template holds ``<kind>`` for each part that is chosen at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_suffix(".txt")


def _sections() -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Return what stands below each heading ``## section kind``."""
    found: dict[str, dict[str, list[str]]] = {}
    entries: list[str] = []
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section, kind = line[3:].split()
            entries = found.setdefault(section, {}).setdefault(kind, [])
        else:
            entries.append(line)
    return {section: {kind: tuple(each) for kind, each in kinds.items()} for section, kinds in found.items()}


_FOUND: Final = _sections()
LITERALS: Final = _FOUND["literals"]
PATHS: Final = _FOUND["paths"]
"""What reads the record."""
TEMPLATES: Final = _FOUND["templates"]
