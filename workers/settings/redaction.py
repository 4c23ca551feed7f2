"""Removes the values of references from texts that people see: traces, log lines, and findings from the database.

The validation of a configuration does not depend on this module: :mod:`connector.config.redacted_validation` builds its answer without
resolved values. The texts here come from PostgreSQL, Kafka and libraries, which quote their input in changed form: trimmed, split, in
another case, in quotes. So a value is searched as a whole and word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from workers.settings.config_providers import Found

_LEAST: Final = 4
"""Shorter words stay: to hide them would make texts unreadable and protect nothing."""
_LONGEST: Final = 1000
"""A longer value is searched word by word only."""
_NAME_BYTES: Final = 63
"""PostgreSQL truncates names to so many bytes."""
_HARMLESS: Final = frozenset({"true", "false", "null", "none"})
_WORD: Final = re.compile(r"\w+")


class Hidden:
    """Replaces the values of references by the references. The time is linear in the text and independent of the number of values."""

    def __init__(self, found: Iterable[Found]) -> None:
        self._words: dict[str, str] = {}
        whole: dict[str, str] = {}
        for one in dict.fromkeys(found):
            value = one.value.strip()
            if _LEAST <= len(value) <= _LONGEST and value.casefold() not in _HARMLESS:
                whole.setdefault(value.casefold(), one.reference)
            # The repr shows a line end as an escape, whose letter then begins the next word.
            for word in _WORD.findall(f"{value} {value!r}"):
                for form in _forms(word):
                    if len(form) >= _LEAST and form not in _HARMLESS:
                        self._words.setdefault(form, one.reference)
        self._references = whole
        longest_first = sorted(whole, key=len, reverse=True)
        self._whole = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if whole else None

    def __call__(self, text: str) -> str:
        """``text`` without the values."""
        if self._whole is not None:
            text = self._whole.sub(self._reference_of_value, text)
        return _WORD.sub(self._reference_of_word, text) if self._words else text

    def _reference_of_value(self, match: re.Match[str]) -> str:
        return self._references.get(match[0].casefold(), "[hidden]")

    def _reference_of_word(self, match: re.Match[str]) -> str:
        return self._words.get(match[0].casefold(), match[0])


def _forms(word: str) -> Iterable[str]:
    """The forms in which a text may quote a word."""
    folded = word.casefold()
    yield folded
    if word.isdecimal():
        yield folded.lstrip("0")
    cut = word.encode(errors="replace")[:_NAME_BYTES].decode(errors="ignore")
    if cut != word:
        yield cut.casefold()
