r"""The ``${provider:[path:]key}`` references of a text, found in one pass.

What is a reference is what Kafka's ``ConfigTransformer`` (KIP-297) matches with ``\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}``: from a ``${``
to the next ``}`` with at least one colon between them; the first colon ends the provider, a second one the path. Python's engine needs
cubic time for that pattern on ``"${" + ":" * n``; this scan looks at each character a constant number of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Reference(NamedTuple):
    """One reference: the text from ``begin`` up to ``end``. ``path`` is empty where only a provider and a key are written."""

    begin: int
    end: int
    provider: str
    path: str
    key: str


def references(text: str) -> Iterator[Reference]:
    """The references of ``text`` from left to right; they do not overlap and do not nest."""
    at = 0
    while (begin := text.find("${", at)) >= 0 and (close := text.find("}", begin)) >= 0:
        # Without a colon before this brace none of the "${" before it begins a reference.
        at = close + 1
        first = text.find(":", begin + 2, close)
        if first >= 0:
            second = text.find(":", first + 1, close)
            path = text[first + 1 : second] if second >= 0 else ""
            yield Reference(begin, at, text[begin + 2 : first], path, text[max(first, second) + 1 : close])
