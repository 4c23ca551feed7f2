"""Patterns of MBeans' names, such as ``kafka.connect:type=connect-w*,*`` (``javax.management.ObjectName``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from workers.telemetry.mbean import MBean

_KEY: Final = re.compile(r'([^,=:*?]+)=("(?:[^"\\]|\\.)*"|[^,=:"]*)')
_DOMAIN: Final = re.compile(r"[^:\n]*")
_SIGN: Final = re.compile(r"\\.|.", re.DOTALL)


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
        if not _wild(self.domain).fullmatch(bean.domain):
            return False
        named = dict(bean.keys)
        if not self.others and named.keys() != dict(self.keys).keys():
            return False
        return all(key in named and _wild(value).fullmatch(named[key]) is not None for key, value in self.keys)


def parse_name(text: str) -> NamePattern:
    """Read a name or a pattern. Raises ValueError with Java's reason."""
    domain, colon, rest = text.partition(":")
    if not text:
        return NamePattern("*", (), others=True)
    if not colon:
        raise ValueError("Key properties cannot be empty" if _DOMAIN.fullmatch(text) else "Domain part must be specified")
    keys: list[tuple[str, str]] = []
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
        if any(key == found[1] for key, _ in keys):
            raise ValueError(f"key `{found[1]}' already defined")
        keys.append((found[1], found[2]))
        at = found.end() + 1
    if not keys and not others:
        raise ValueError("Key properties cannot be empty")
    return NamePattern(domain, tuple(keys), others)


def canonical_name(bean: MBean) -> str:
    """Return the name of an MBean with its keys sorted."""
    return NamePattern(bean.domain, bean.keys, others=False).canonical


def _unescaped(value: str) -> str:
    """The value without its escaped characters, which are no wildcards."""
    return re.sub(r"\\.", "", value) if value.startswith('"') else value


def _wild(text: str) -> re.Pattern[str]:
    quoted = text.startswith('"')
    parts = [{"*": ".*", "?": "."}.get(sign) or re.escape(sign) for sign in (_SIGN.findall(text) if quoted else text)]
    return re.compile("".join(parts), re.DOTALL)
