"""An incremental snapshot's state: which tables it still has to read, and how far it has come in the first of them.

Rules
1. Tables are read one after the other, in the order they were asked for; signals that come meanwhile add to the end.
2. A table's end is fixed when its first chunk is read: rows that come behind it later arrive by the stream.
3. ``position`` is the last row that was *sent*; a chunk that was read and not sent does not count. All that this state says is
   therefore true of the records before the offset it is stored in, and a restart goes on behind ``position``.
4. The state is stored in the source offset under the reference's own keys, so that either side goes on with the other's
   snapshot; without tables left nothing of it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import orjson

from connector.chunk_query import KeyTexts
from connector.config_keys.patterns import regex_problem
from connector.errors import CdcError
from connector.name_matcher import NameMatcher
from connector.ports import Backtracking, no_backtracking
from connector.signals import Condition, ExecuteSnapshot, split_name

_PRIMARY_KEY: Final = "incremental_snapshot_primary_key"
_MAXIMUM_KEY: Final = "incremental_snapshot_maximum_key"
_COLLECTIONS: Final = "incremental_snapshot_collections"
_CORRELATION: Final = "incremental_snapshot_correlation_id"
_ID: Final = "incremental_snapshot_collections_id"
_CONDITION: Final = "incremental_snapshot_collections_additional_condition"
_SURROGATE: Final = "incremental_snapshot_collections_surrogate_key"


MOST_STORED: Final = 1_000_000
"""Bytes of the offset that this state may take: a record of Kafka has 1,048,576 by default, and the offset holds places too."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A table to read. ``name`` is ``schema.table`` without quotes, ``condition`` is SQL."""

    name: str
    condition: str | None = None
    surrogate_key: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A row's place in the order of a table's key: as texts for SQL, and ``stored`` as the offset holds it."""

    texts: KeyTexts
    stored: str


def wanted_collections(
    action: ExecuteSnapshot, known: Sequence[str], *, former: bool = False, backtrack: Backtracking = no_backtracking
) -> tuple[list[Collection], list[str]]:
    """The tables a signal asks for, and a warning for each entry that cannot be used.

    An entry is a regular expression, with regard to case, over ``known`` (schema.table, of captured tables, in order); one that
    matches none is taken literally, and so is one that is no regular expression but the name of a table. ``former``: as 2.3.4 keeps them.
    """
    names: dict[str, None] = {}
    warnings = []
    for entry in action.collections:
        literal = literal_name(entry)
        try:
            matched = _matched(entry, known, backtrack)
        except CdcError as error:
            if literal in known:
                # A name of such characters can be written in no other way.
                names[literal] = None
            else:
                warnings.append(error.message)
            continue
        names.update(dict.fromkeys(matched or [literal]))
    filters = filters_of(action.conditions, list(names), backtrack)
    # As the offset holds it, which 2.3.4 did without parentheses.
    conditions = {name: found if former else f"({found})" for name, found in filters.items()}
    return [Collection(name, conditions.get(name), action.surrogate_key) for name in names], warnings


def _matched(entry: str, names: Sequence[str], backtrack: Backtracking) -> list[str]:
    """Those of ``names`` that the entry names or matches, with regard to case."""
    matches = NameMatcher([entry], "data-collections", ignore_case=False, backtrack=backtrack)
    matches.learn(names)
    literal = literal_name(entry)
    return [name for name in names if name == literal or matches(name)]


def literal_name(entry: str) -> str:
    """``schema.table`` of an entry that is a name: without quotes, without the database in front."""
    parts = split_name(entry)
    return ".".join(parts[-2:]) if '"' in entry or len(parts) == _WITH_DATABASE else entry


_WITH_DATABASE: Final = 3


def filters_of(conditions: Sequence[Condition], names: Sequence[str], backtrack: Backtracking = no_backtracking) -> dict[str, str]:
    """What the first of ``conditions`` that names a table says of it, for those of ``names`` that have one.

    Raises CdcError for a pattern that cannot be matched: without its condition a table would be read as a whole.
    """
    found: dict[str, str] = {}
    for condition in conditions:
        left = [name for name in names if name not in found]
        literal = literal_name(condition.pattern)
        named = [name for name in left if name in (condition.pattern, literal)]
        if regex_problem(condition.pattern) is None:
            matches = NameMatcher([condition.pattern], "additional-conditions", backtrack=backtrack)
            matches.learn(left)
            named += filter(matches, left)
        found.update(dict.fromkeys(named, condition.filter))
    return found


class IncrementalSnapshot:
    """See the module. Not running while ``collections`` is empty; the first one is being read."""

    __slots__ = ("collections", "correlation_id", "maximum", "paused", "position")

    def __init__(self) -> None:
        self.collections: list[Collection] = []
        self.correlation_id: str | None = None
        """Of the signal that came last: all notifications bear it, as in the reference."""
        self.position: Place | None = None
        self.maximum: Place | None = None
        self.paused = False

    @property
    def running(self) -> bool:
        """There is something left to read; it may be paused."""
        return bool(self.collections)

    @property
    def names(self) -> list[str]:
        """The tables left, the current one first."""
        return [collection.name for collection in self.collections]

    def add(self, collections: Sequence[Collection], correlation_id: str) -> bool:
        """Take more tables; whether the snapshot begins with them."""
        begins = not self.collections
        self.collections.extend(collections)
        self.correlation_id = correlation_id
        return begins and bool(self.collections)

    def next_collection(self) -> bool:
        """The current table is read; whether there is another one."""
        del self.collections[0]
        self.position = self.maximum = None
        return self._left()

    def stop(self, entries: Sequence[str], backtrack: Backtracking = no_backtracking) -> list[str]:
        """Take tables off: all of them, or those that ``entries`` name or match. Answers which."""
        names = set(self.names) if not entries else set()
        for entry in entries:
            try:
                names.update(_matched(entry, self.names, backtrack))
            except CdcError:
                names |= {entry, literal_name(entry)}
        removed = [(number, collection) for number, collection in enumerate(self.collections) if collection.name in names]
        numbers = {number for number, _ in removed}
        self.collections = [collection for number, collection in enumerate(self.collections) if number not in numbers]
        if 0 in numbers:
            self.position = self.maximum = None
        self._left()
        return [collection.name for _, collection in removed]

    def _left(self) -> bool:
        if not self.collections:
            self.correlation_id = None
            self.paused = False
        return bool(self.collections)

    def to_offset(self, null_key: str) -> dict[str, object]:
        """The offset's members that hold this state; ``null_key`` is how the offset holds a place that is not known yet."""
        if not self.collections:
            return {}
        listed = [{_ID: c.name, _CONDITION: c.condition, _SURROGATE: c.surrogate_key} for c in self.collections]
        return {
            _PRIMARY_KEY: null_key if self.position is None else self.position.stored,
            _MAXIMUM_KEY: null_key if self.maximum is None else self.maximum.stored,
            _COLLECTIONS: orjson.dumps(listed).decode(),
            _CORRELATION: self.correlation_id,
        }

    def stored_size(self, more: Sequence[Collection], correlation_id: str) -> int:
        """Bytes of the offset that this state takes when ``more`` is added, places in the current table left out."""
        added = IncrementalSnapshot()
        added.add([*self.collections, *more], correlation_id)
        return len(orjson.dumps(added.to_offset("")))

    def load(self, offset: Mapping[str, object], read_key: Callable[[str], KeyTexts | None]) -> str | None:
        """Go on with what an offset says. ``read_key`` raises ValueError for a place that cannot be read.

        Answers a warning when something of it cannot be used: the current table is read from its beginning then.
        """
        listed = offset.get(_COLLECTIONS)
        if not isinstance(listed, str):
            return None
        try:
            entries = orjson.loads(listed)
            self.collections = [_collection(cast(Mapping[str, object], entry)) for entry in entries]
        except (orjson.JSONDecodeError, AttributeError, TypeError, KeyError) as error:
            self.collections = []
            return f"the offset's {_COLLECTIONS} cannot be read: {type(error).__name__}"
        correlation = offset.get(_CORRELATION)
        self.correlation_id = correlation if isinstance(correlation, str) else None
        try:
            self.position = _place(offset.get(_PRIMARY_KEY), read_key)
            self.maximum = _place(offset.get(_MAXIMUM_KEY), read_key)
        except ValueError as error:
            self.position = self.maximum = None
            return f"the place in table {self.names[0] if self.names else ''} cannot be read: {error}"
        return None


def _collection(entry: Mapping[str, object]) -> Collection:
    def text(member: str) -> str | None:
        value = entry.get(member)
        return value if isinstance(value, str) and value else None

    name = entry[_ID]
    if not isinstance(name, str):
        raise TypeError(_ID)
    return Collection(literal_name(name), text(_CONDITION), text(_SURROGATE))


def _place(stored: object, read_key: Callable[[str], KeyTexts | None]) -> Place | None:
    if not isinstance(stored, str):
        return None
    texts = read_key(stored)
    return None if texts is None else Place(texts, stored)
