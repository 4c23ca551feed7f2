"""Where a message stands in a file: the indexes that Confluent's wire format puts between the schema's id and the message.

Source: Confluent documentation, "Wire format". The number of indexes and the indexes themselves are zigzag varints. For the first message
of the file one zero stands for both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from connector.converters.varints import unsigned_varint

_TOKEN: Final = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|\s+)|(?P<token>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\w.]+|.)""", re.DOTALL | re.ASCII
)


def index_bytes(indexes: Sequence[int]) -> bytes:
    """Return the bytes of the indexes."""
    if tuple(indexes) == (0,):
        return b"\0"
    return b"".join(unsigned_varint(number << 1) for number in (len(indexes), *indexes))


def tokens(text: str) -> list[str]:
    """Return the words, literals and signs of a file, without spaces and comments."""
    return [match["token"] for match in _TOKEN.finditer(text) if match["token"] is not None]


def find_message(text: str, full_name: str) -> tuple[int, ...] | None:
    """Return the indexes of a message in a file, or None where the file has no such message."""
    words = tokens(text)
    found = _messages(words)
    # A field may have the name package.
    package = next((words[place + 1] for place in range(len(words) - 2) if words[place] == "package" and words[place + 2] == ";"), "")
    return next((indexes for name, indexes in found if (f"{package}.{name}" if package else name) == full_name), None)


def _messages(words: list[str]) -> list[tuple[str, tuple[int, ...]]]:
    """Return all messages, by their names within the package."""
    found: list[tuple[str, tuple[int, ...]]] = []
    # Each open brace: the message that it belongs to, or None, and how many messages were met within it.
    open_braces: list[tuple[tuple[str, tuple[int, ...]] | None, int]] = [(("", ()), 0)]
    following: tuple[str, tuple[int, ...]] | None = None
    for place, word in enumerate(words):
        outer, count = open_braces[-1]
        if word == "{":
            open_braces.append((following, 0))
            following = None
        elif word == "}" and len(open_braces) > 1:
            open_braces.pop()
        elif word == "message" and outer is not None and words[place + 2 : place + 3] == ["{"]:
            name = words[place + 1]
            following = (f"{outer[0]}.{name}" if outer[0] else name, (*outer[1], count))
            found.append(following)
            open_braces[-1] = (outer, count + 1)
    return found
