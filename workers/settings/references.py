r"""Finds the ``${provider:[path:]key}`` references of a text in one pass.

Kafka's ``ConfigTransformer`` (KIP-297) matches a reference with ``\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}``: from a ``${``
to the next ``}`` with at least one colon between them; the first colon ends the provider, a second one the path. Python's engine needs
cubic time for that pattern on ``"${" + ":" * n``; this scan reads each character a constant number of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Reference(NamedTuple):
    """One reference: the text from ``begin`` up to ``end``. ``path`` is empty when the reference has only a provider and a key."""

    begin: int
    end: int
    provider: str
    path: str
    key: str


def references(text: str) -> Iterator[Reference]:
    """The references of ``text`` from left to right; they do not overlap and do not nest."""
    at = 0
    while (begin := text.find("${", at)) >= 0 and (close := text.find("}", begin)) >= 0:
        # If no colon precedes this brace, no "${" before it begins a reference.
        at = close + 1
        first = text.find(":", begin + 2, close)
        if first >= 0:
            second = text.find(":", first + 1, close)
            path = text[first + 1 : second] if second >= 0 else ""
            yield Reference(begin, at, text[begin + 2 : first], path, text[max(first, second) + 1 : close])
