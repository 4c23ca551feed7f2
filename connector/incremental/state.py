"""An incremental snapshot's state: the tables that remain, and the position in the first of them.

Rules
1. Tables are read one after the other, in the order of the requests. A later signal adds its tables at the end.
2. The key of a table's last row is determined before its first chunk. Rows with higher keys that are inserted later arrive in the stream.
3. ``position`` is the last row that was *sent*. A chunk that was read and not sent does not count. The state therefore describes the
   records before the offset that stores it, and a restart resumes after ``position``.
4. The state is stored in the source offset under Debezium's own keys, so Understudy and Debezium can each resume the other's snapshot.
   When no table remains, the offset contains no state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import orjson

from connector.catalog.identifiers import split_name
from connector.catalog.name_matcher import NameMatcher
from connector.configdef.patterns import regex_problem
from connector.emulation import DEFAULT, Emulation
from connector.errors import CdcError
from connector.incremental.chunk_query import KeyTexts
from connector.ports import Backtracking, no_backtracking
from connector.signals.signal import Condition, ExecuteSnapshot

_PRIMARY_KEY: Final = "incremental_snapshot_primary_key"
_MAXIMUM_KEY: Final = "incremental_snapshot_maximum_key"
_COLLECTIONS: Final = "incremental_snapshot_collections"
_CORRELATION: Final = "incremental_snapshot_correlation_id"
_ID: Final = "incremental_snapshot_collections_id"
_CONDITION: Final = "incremental_snapshot_collections_additional_condition"
_SURROGATE: Final = "incremental_snapshot_collections_surrogate_key"
_SIGNAL: Final = "incremental_snapshot_collections_correlation_id"


MOST_STORED: Final = 1_000_000
"""The most bytes that this state may take in the offset. Kafka's default limit for a record is 1,048,576 bytes, and the offset also stores
places."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A table to read. ``name`` is ``schema.table`` without quotes, ``condition`` is SQL."""

    name: str
    condition: str | None = None
    surrogate_key: str | None = None
    signal_id: str | None = field(default=None, compare=False)
    """The id that the signal gave which asked for the table."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row's place in the order of a table's key: ``texts`` for SQL, and ``stored``, the form in the offset.

    Between tied rows, ``stored`` is the place before them.
    """

    texts: KeyTexts
    stored: str


def wanted_collections(
    action: ExecuteSnapshot, known: Sequence[str], *, emulation: Emulation = DEFAULT, backtrack: Backtracking = no_backtracking
) -> tuple[list[Collection], list[str]]:
    """Return the tables that a signal requests, and a warning for each entry that cannot be used.

    An entry is a case-sensitive regular expression for names in ``known`` (schema.table of the captured tables, in order). An entry that
    matches no name is a literal name, and so is a table's name that is not a valid regular expression.
    """
    names: dict[str, None] = {}
    warnings = []
    for entry in action.collections:
        literal = literal_name(entry)
        try:
            matched = _matched(entry, known, backtrack)
        except CdcError as error:
            if literal in known:
                # The name is not a valid regular expression, so it is taken literally.
                names[literal] = None
            else:
                warnings.append(error.message)
            continue
        names.update(dict.fromkeys(matched or [literal]))
    filters = filters_of(action.conditions, list(names), backtrack)
    # The form in which the offset stores a condition.
    conditions = {name: f"({found})" if emulation.stores_conditions_in_parentheses else found for name, found in filters.items()}
    signal_id = action.correlation_id if action.named else None
    return [Collection(name, conditions.get(name), action.surrogate_key, signal_id) for name in names], warnings


def _matched(entry: str, names: Sequence[str], backtrack: Backtracking) -> list[str]:
    """Return those of ``names`` that the entry names or matches; case matters."""
    matches = NameMatcher([entry], "data-collections", ignore_case=False, backtrack=backtrack)
    matches.learn(names)
    literal = literal_name(entry)
    return [name for name in names if name == literal or matches(name)]


def literal_name(entry: str) -> str:
    """Return ``schema.table`` of an entry that is a name, without quotes and without the database."""
    parts = split_name(entry)
    return ".".join(parts[-2:]) if '"' in entry or len(parts) == _WITH_DATABASE else entry


_WITH_DATABASE: Final = 3


def filters_of(conditions: Sequence[Condition], names: Sequence[str], backtrack: Backtracking = no_backtracking) -> dict[str, str]:
    """Return the filter of each table of ``names`` that a condition applies to. The first of ``conditions`` that matches a table applies.

    Raises CdcError for a pattern that cannot be matched, because without its condition the whole table would be read.
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
    """The state of an incremental snapshot. The first of ``collections`` is being read; without collections no snapshot runs."""

    __slots__ = ("collections", "correlation_id", "maximum", "paused", "position")

    def __init__(self) -> None:
        self.collections: list[Collection] = []
        self.correlation_id: str | None = None
        """The id of the last signal. All notifications have it, as in Debezium."""
        self.position: Place | None = None
        self.maximum: Place | None = None
        self.paused = False

    @property
    def running(self) -> bool:
        """Whether a table remains; the snapshot may be paused."""
        return bool(self.collections)

    @property
    def names(self) -> list[str]:
        """The names of the remaining tables, the current one first."""
        return [collection.name for collection in self.collections]

    def add(self, collections: Sequence[Collection], correlation_id: str) -> bool:
        """Add tables. Return whether the snapshot begins with them."""
        begins = not self.collections
        self.collections.extend(collections)
        self.correlation_id = correlation_id
        return begins and bool(self.collections)

    def next_collection(self) -> bool:
        """Remove the current table, which was read. Return whether another table remains."""
        del self.collections[0]
        self.position = self.maximum = None
        return self._left()

    def stop(self, entries: Sequence[str], backtrack: Backtracking = no_backtracking) -> list[str]:
        """Remove the tables that ``entries`` name or match; without entries, all tables. Return the names of the removed tables."""
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

    def to_offset(self, null_key: str, emulation: Emulation = DEFAULT) -> dict[str, object]:
        """Return the offset's members for this state; ``null_key`` is the stored form of an unknown place."""
        if not self.collections:
            return {}
        listed = [
            {_ID: c.name, _CONDITION: c.condition, _SURROGATE: c.surrogate_key}
            | ({_SIGNAL: c.signal_id} if emulation.stores_signals_of_tables else {})
            for c in self.collections
        ]
        return {
            _PRIMARY_KEY: null_key if self.position is None else self.position.stored,
            _MAXIMUM_KEY: null_key if self.maximum is None else self.maximum.stored,
            _COLLECTIONS: orjson.dumps(listed).decode(),
            _CORRELATION: self.correlation_id,
        }

    def stored_size(self, more: Sequence[Collection], correlation_id: str) -> int:
        """Return the size in bytes of this state in the offset after ``more`` is added, without the places in the current table."""
        added = IncrementalSnapshot()
        added.add([*self.collections, *more], correlation_id)
        return len(orjson.dumps(added.to_offset("")))

    def load(self, offset: Mapping[str, object], read_key: Callable[[str], KeyTexts | None]) -> str | None:
        """Load the state from an offset. ``read_key`` raises ValueError for a place that cannot be read.

        Return a warning if the tables or a place cannot be used; without a usable place the current table is read from its beginning.
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
    return Collection(literal_name(name), text(_CONDITION), text(_SURROGATE), text(_SIGNAL))


def _place(stored: object, read_key: Callable[[str], KeyTexts | None]) -> Place | None:
    if not isinstance(stored, str):
        return None
    texts = read_key(stored)
    return None if texts is None else Place(texts, stored)
