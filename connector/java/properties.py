r"""Parser of Java's ``.properties`` text, the format of Kafka's configuration files.

The rules are those of ``java.util.Properties.load``. A key ends at the first unescaped ``=``, ``:`` or white space. A line that ends in an
odd number of backslashes continues on the next one. ``#`` and ``!`` begin a comment. ``\t \n \r \f \uXXXX`` are escapes; any other escaped
character stands for itself. Two ``\uXXXX`` that are a surrogate pair are one character. A surrogate without its other half becomes ``?``,
which is what Java writes for it as UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_BLANK: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SURROGATES: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def parse_properties(text: str) -> dict[str, str]:
    r"""Return the keys and values of ``text`` in its order. If a key is set twice, the last value applies.

    Raises ValueError with the key for a ``\u`` without four hexadecimal digits.
    """
    result: dict[str, str] = {}
    for line in _logical_lines(text):
        raw_key, raw_value = _split(line)
        try:
            result[_unescape(raw_key)] = _unescape(raw_value)
        except ValueError:
            raise ValueError(f"Malformed \\uXXXX escape in the property {raw_key!r}") from None
    return result


def read_properties(content: bytes) -> dict[str, str]:
    """Return :func:`parse_properties` of a file's content, which is UTF-8 or else ISO-8859-1, as Java's tools write such files."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return parse_properties(text)


def _logical_lines(text: str) -> Iterator[str]:
    """Return the lines without comments and blank lines, with continuations joined."""
    pending = ""
    if text.endswith(("\\\n", "\\\r")):
        # Java does not look for a line after the last line end.
        text = text[:-1]
    naturals = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for at, natural in enumerate(naturals, 1):
        line = natural.lstrip(_BLANK)
        # After a line that is a backslash only, a comment may still come.
        if not pending and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        pending += line[:-1] if backslashes % 2 else line
        if backslashes % 2 and at < len(naturals):
            continue
        yield pending
        pending = ""


def _split(line: str) -> tuple[str, str]:
    """Return the raw key and the raw value of one logical line."""
    at = 0
    while at < len(line) and line[at] not in "=:" + _BLANK:
        at += 2 if line[at] == "\\" else 1
    key = line[:at]
    rest = line[at:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return key, rest


def _unescape(raw: str) -> str:
    if "\\" not in raw:
        return raw
    parts: list[str] = []
    at = 0
    while at < len(raw):
        if raw[at] != "\\":
            parts.append(raw[at])
            at += 1
            continue
        escaped = raw[at + 1 : at + 2]
        if escaped == "u":
            digits = raw[at + 2 : at + 6]
            if len(digits) != 4 or not all(d in "0123456789abcdefABCDEF" for d in digits):
                raise ValueError(raw)
            parts.append(chr(int(digits, 16)))
            at += 6
            continue
        parts.append(_ESCAPES.get(escaped, escaped))
        at += 2
    return _SURROGATES.sub(_character, "".join(parts))


def _character(surrogates: re.Match[str]) -> str:
    return surrogates[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le") if len(surrogates[0]) > 1 else "?"
