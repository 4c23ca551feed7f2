"""The rules of TimezoneConverter's lists: which fields of which events are converted (Debezium documentation, "Timezone Converter").

``source:<table>``, ``topic:<topic>`` and a bare name each may be followed by ``:<field>``. A rule without ``source:`` or ``topic:`` has
that of the last rule before it which has one; only in front of the first such rule does it mean a table or a topic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_WORD: Final = r'[".\w\s_]+'
_LIST: Final = re.compile(rf"\[(source|topic|{_WORD}):({_WORD}(?::{_WORD})?(?:,|\]$))+", re.ASCII)
_KINDS: Final = ("source", "topic")

Fields = Mapping[str, frozenset[str]]
"""Name of a table or topic → fields; none means all fields."""


@dataclass(frozen=True, slots=True)
class TimezoneRules:
    """The rules of one list, by what their names mean."""

    tables: Fields
    topics: Fields
    either: Fields

    @classmethod
    def of(cls, written: Sequence[str]) -> TimezoneRules:
        """Read the rules of a list. Raises ValueError where the list does not have their form."""
        if _LIST.fullmatch(f"[{', '.join(written)}]") is None:
            raise ValueError("List does not consist of rules")
        found: dict[str | None, dict[str, set[str]]] = {"source": {}, "topic": {}, None: {}}
        kind: str | None = None
        for rule in written:
            parts = rule.split(":")
            if parts[0].lower() in _KINDS:
                # In capitals the word is known, and means a table or a topic.
                kind = parts[0] if parts[0] in _KINDS else None
                parts.pop(0)
            if not parts:
                continue
            fields = found[kind].setdefault(parts[0], set())
            if len(parts) > 1:
                fields.add(parts[1])
        tables, topics, either = ({name: frozenset(fields) for name, fields in kept.items()} for kept in found.values())
        return cls(tables, topics, either)

    def fields(self, table: str | None, topic: str) -> frozenset[str] | None:
        """Return the fields of the rules for an event, or None where no rule is for it."""
        for rules, name in ((self.topics, topic), (self.tables, table), (self.either, topic), (self.either, table)):
            if name is not None and name in rules:
                return rules[name]
        return None
