"""Random Groovy scripts, as trees that can be made smaller."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.differential.groovy.grammar import LITERALS, PATHS, TEMPLATES

_PART: Final = re.compile(r"<([a-z]+)>")
_WRONG: Final = 0.04
"""How often a part is of another kind than its place wants."""
_KINDS: Final = ("int", "long", "double", "decimal", "text", "bool", "list", "map", "any")
_SMALLEST: Final = ("1", "'a'", "true", "[1]", "null", "1.5", "[a: 1]", "2L", "1.5d", "0", "''")


@dataclass(frozen=True, slots=True)
class Script:
    """A template's text with the part for each of its places."""

    kind: str
    template: str
    parts: tuple[Script, ...] = ()

    def text(self) -> str:
        """Return the text of the script."""
        if not self.parts:
            # A literal may hold a group's name in angle brackets.
            return self.template
        parts = iter(self.parts)
        return _PART.sub(lambda _: next(parts).text(), self.template)

    def smaller(self) -> Iterator[Script]:
        """Yield scripts that have a part of this one in its place, or a literal in place of a part."""
        if self.parts:
            yield from self.parts
        if self.kind in _KINDS:
            for text in _SMALLEST:
                if len(text) < len(self.text()):
                    yield Script(self.kind, text)
        for at, part in enumerate(self.parts):
            for less in part.smaller():
                yield Script(self.kind, self.template, (*self.parts[:at], less, *self.parts[at + 1 :]))


def random_script(random: Random) -> Script:
    """Return a random script. The same seed gives the same script."""
    return _script(random, "script", random.choice((1, 2, 2, 3)))


def _script(random: Random, kind: str, depth: int) -> Script:
    if kind in _KINDS and random.random() < _WRONG:
        kind = random.choice(_KINDS)
    leaf = depth <= 0 or random.random() < 0.3
    if kind == "num":
        return _script(random, random.choice(("int", "int", "long", "double", "decimal", "big")), depth)
    choices = TEMPLATES.get(kind, ())
    if kind in LITERALS and (leaf or not choices):
        paths = PATHS.get(kind, ())
        return Script(kind, random.choice(paths if paths and random.random() < 0.4 else LITERALS[kind]))
    if kind == "any" and leaf:
        if random.random() < 0.4:
            return Script(kind, random.choice(PATHS["any"]))
        return _script(random, random.choice(_KINDS[:-1]), 0)
    template = random.choice(choices)
    return Script(kind, template, tuple(_script(random, name, depth - 1) for name in _PART.findall(template)))
