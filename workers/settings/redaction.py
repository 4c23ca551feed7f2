"""Removes the values of references from texts that people see: traces, log lines, and findings from the database.

The validation of a configuration does not depend on this module: :mod:`connector.config.redacted_validation` builds its answer without
resolved values. The texts here come from PostgreSQL, Kafka and libraries, which quote their input in changed form: trimmed, split, in
another case, in quotes, in a URL. So a value is searched as a whole and word by word.

Values are secrets, and are replaced wherever they occur, also inside longer words. The values of a few properties are only names, such as
that of a user: those are replaced as whole words, because a user named ``post`` must not change the word ``PostgreSQL``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote, quote_plus

from workers.settings.config_providers import Found

_LEAST: Final = 4
"""Shorter words stay: to hide them would make texts unreadable and protect nothing."""
_LONGEST: Final = 1000
"""A longer value is searched word by word only."""
_NAME_BYTES: Final = 63
"""PostgreSQL truncates names to so many bytes."""
_HARMLESS: Final = frozenset({"true", "false", "null", "none"})
_COMMON: Final = frozenset(
    {
        "admin",
        "connect",
        "connector",
        "database",
        "debezium",
        "kafka",
        "localhost",
        "pgoutput",
        "postgres",
        "postgresql",
        "public",
        "replication",
        "replicator",
        "root",
        "test",
        "user",
    }
)
"""Names that many installations share and that sentences contain. They stay, unless the same word is also a secret."""
_NAMING: Final = frozenset(
    {
        "name",
        "topic.prefix",
        "database.server.name",
        "database.hostname",
        "database.port",
        "database.user",
        "database.dbname",
        "plugin.name",
        "slot.name",
        "publication.name",
        "tasks.max",
        "snapshot.mode",
        "signal.data.collection",
        "heartbeat.topics.prefix",
        "topic.heartbeat.prefix",
        "topic.transaction",
        "schema.include.list",
        "schema.exclude.list",
        "schema.whitelist",
        "schema.blacklist",
        "table.include.list",
        "table.exclude.list",
        "table.whitelist",
        "table.blacklist",
        "column.include.list",
        "column.exclude.list",
        "column.whitelist",
        "column.blacklist",
    }
)
"""Properties whose values are names. Every other property may hold a secret: those of transforms, of clients, and unknown ones."""
_SECRET: Final = re.compile(r"pass|pwd|secret|token|credential|jaas|private|key|auth|api", re.IGNORECASE)
"""What the text of a reference contains if it stands for a secret. A file of secrets contains names too, so its path does not count."""
_WORD: Final = re.compile(r"\w+")


class Hidden:
    """Replaces the values of references by the references. The time is linear in the text and independent of the number of values.

    ``found``: property → its replaced references.
    """

    def __init__(self, found: Mapping[str, Iterable[Found]]) -> None:
        each = [(one, _is_name(name, one)) for name, ones in found.items() for one in ones]
        secrets = list(dict.fromkeys(one for one, is_name in each if not is_name))
        names = list(dict.fromkeys(one for one, is_name in each if is_name))
        self._words: dict[str, str] = {}
        self._references: dict[str, str] = {}
        patterns = {text: re.escape(text) for text in self._keep(secrets, _HARMLESS)}
        patterns = {text: _bounded(text) for text in self._keep(names, _HARMLESS | _COMMON)} | patterns
        longest_first = sorted(patterns, key=len, reverse=True)
        self._whole = re.compile("|".join(patterns[text] for text in longest_first), re.IGNORECASE) if patterns else None

    def __call__(self, text: str) -> str:
        """``text`` without the values."""
        if self._whole is not None:
            text = self._whole.sub(self._reference_of_value, text)
        return _WORD.sub(self._reference_of_word, text) if self._words else text

    def _keep(self, found: Sequence[Found], harmless: frozenset[str]) -> list[str]:
        """Learn these values and their words. Return the texts to search for as a whole."""
        texts: list[str] = []
        for one in found:
            value = one.value.strip()
            if _LEAST <= len(value) <= _LONGEST and value.casefold() not in harmless:
                for text in _quoted(value):
                    self._references.setdefault(text.casefold(), one.reference)
                    texts.append(text)
            # The repr shows a line end as an escape, whose letter then begins the next word.
            for word in _WORD.findall(f"{value} {value!r}"):
                for form in _forms(word):
                    if len(form) >= _LEAST and form not in harmless:
                        self._words.setdefault(form, one.reference)
        return texts

    def _reference_of_value(self, match: re.Match[str]) -> str:
        return self._references.get(match[0].casefold(), "[hidden]")

    def _reference_of_word(self, match: re.Match[str]) -> str:
        return self._words.get(match[0].casefold(), match[0])


def _is_name(name: str, found: Found) -> bool:
    """Whether a property's value is a name and its reference does not say otherwise."""
    return name in _NAMING and _SECRET.search(found.reference.rpartition(":")[2]) is None


def _bounded(text: str) -> str:
    """The pattern of ``text`` that is not part of a longer word."""
    begins = r"(?<!\w)" if _WORD.match(text[0]) else ""
    return f"{begins}{re.escape(text)}" + (r"(?!\w)" if _WORD.match(text[-1]) else "")


def _quoted(value: str) -> Iterator[str]:
    """The forms in which a text may quote a value: as it is, in a URL, in a connection string, in SQL, in JSON."""
    yield value
    yield quote(value, safe="")
    yield quote(value)
    yield quote_plus(value)
    escaped = value.replace("\\", "\\\\")
    for mark in "'\"":
        yield value.replace(mark, mark * 2)
        yield escaped.replace(mark, f"\\{mark}")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]


def _forms(word: str) -> Iterable[str]:
    """The forms in which a text may quote a word."""
    folded = word.casefold()
    yield folded
    if word.isdecimal():
        yield folded.lstrip("0")
    cut = word.encode(errors="replace")[:_NAME_BYTES].decode(errors="ignore")
    if cut != word:
        yield cut.casefold()
