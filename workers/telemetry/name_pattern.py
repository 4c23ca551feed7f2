"""Patterns of MBeans' names, such as ``kafka.connect:type=connect-w*,*`` (``javax.management.ObjectName``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from workers.telemetry.mbean import MBean

_KEY: Final = re.compile(r'([^,=:*?]+)=("(?:[^"\\]|\\.)*"|[^,=:"]*)')
_DOMAIN: Final = re.compile(r"[^:\n]*")
_PIECE: Final = re.compile(r"\\.|\*+|.", re.DOTALL)
_PATTERNS: Final = 256
"""How many patterns of values are kept for the next request or MBean."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A name, or a pattern of names, with its keys in the order in which they were written."""

    domain: str
    keys: tuple[tuple[str, str], ...]
    others: bool
    """Whether a name may have other keys too (``,*``)."""

    @property
    def is_pattern(self) -> bool:
        """Whether it can match several names."""
        return self.others or any("*" in part or "?" in part for part in (self.domain, *(_unescaped(value) for _, value in self.keys)))

    @property
    def written(self) -> str:
        """The name with its keys in their order."""
        return self._text(self.keys)

    @property
    def canonical(self) -> str:
        """The name with its keys sorted."""
        return self._text(sorted(self.keys))

    def _text(self, keys: Iterable[tuple[str, str]]) -> str:
        return f"{self.domain}:{','.join([*(f'{key}={value}' for key, value in keys), *(['*'] if self.others else [])])}"

    def matches(self, bean: MBean) -> bool:
        """Whether the pattern matches the name of the MBean."""
        if not _fits(self.domain, bean.domain):
            return False
        named = dict(bean.keys)
        if not self.others and named.keys() != dict(self.keys).keys():
            return False
        return all(key in named and _fits(value, named[key]) for key, value in self.keys)


def parse_name(text: str) -> NamePattern:
    """Read a name or a pattern. Raises ValueError with Java's reason."""
    domain, colon, rest = text.partition(":")
    if not text:
        return NamePattern("*", (), others=True)
    if not colon:
        raise ValueError("Key properties cannot be empty" if _DOMAIN.fullmatch(text) else "Domain part must be specified")
    keys: dict[str, str] = {}
    others = False
    at = 0
    while at < len(rest):
        if rest[at] == "*" and rest[at + 1 : at + 2] in ("", ","):
            others = True
            at += 2
            continue
        found = _KEY.match(rest, at)
        if found is None or rest[found.end() : found.end() + 1] not in ("", ","):
            raise ValueError("Invalid character in key or value part of property")
        if found[1] in keys:
            raise ValueError(f"key `{found[1]}' already defined")
        keys[found[1]] = found[2]
        at = found.end() + 1
    if not keys and not others:
        raise ValueError("Key properties cannot be empty")
    return NamePattern(domain, tuple(keys.items()), others)


def canonical_name(bean: MBean) -> str:
    """Return the name of an MBean with its keys sorted."""
    return NamePattern(bean.domain, bean.keys, others=False).canonical


def _unescaped(value: str) -> str:
    """The value without its escaped characters, which are no wildcards."""
    return re.sub(r"\\.", "", value) if value.startswith('"') else value


def _fits(pattern: str, text: str) -> bool:
    """Whether a domain or a value fits. Characters that are no wildcards stand for themselves, also those escaped in quotes."""
    return pattern == text if "*" not in pattern and "?" not in pattern else _wild(pattern).fullmatch(text) is not None


@lru_cache(_PATTERNS)
def _wild(pattern: str) -> re.Pattern[str]:
    """Return a pattern whose matching takes at most the product of the two lengths.

    What is between two stars is looked for once, from the left: an atomic group does not try the next place if the rest does not match.
    """
    pieces = _PIECE.findall(pattern) if pattern.startswith('"') else re.findall(r"\*+|[^*]", pattern)
    runs = [""]
    for piece in pieces:
        if piece[0] == "*":
            runs.append("")
        else:
            runs[-1] += "." if piece == "?" else re.escape(piece)
    if len(runs) == 1:
        return re.compile(runs[0], re.DOTALL)
    first, *inner, last = runs
    return re.compile("".join([first, *(f"(?>.*?{run})" for run in inner), ".*", last]), re.DOTALL)
