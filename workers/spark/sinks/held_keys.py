"""The keys of rows that are held in memory: which of the former rows and of a batch's rows a table has after the batch. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class HeldKeys(Generic[Key]):
    """The keys of a table's rows, in the rows' order. No key is there twice."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys: Final = list(keys)
        self._places: Final = {key: at for at, key in enumerate(self.keys)}

    def __len__(self) -> int:
        return len(self.keys)

    def changed(self, changes: Sequence[tuple[bool, Key]]) -> tuple[list[int], Counter[str]]:
        """Apply changes of rows, one of each: whether it is a new row or, if not, goes; and its key.

        Return the place of each row of the table, among its former rows followed by those of the changes; and how many were inserted,
        updated and deleted, by the words of Delta's history.
        """
        rows, first = list(range(len(self.keys))), len(self.keys)
        done = Counter(self._put(key, rows, first + at) if new else self._take(key, rows) for at, (new, key) in enumerate(changes))
        return rows, Counter({word: done[word] for word in ("Inserted", "Updated", "Deleted")})

    def _put(self, key: Key, rows: list[int], row: int) -> str:
        place = self._places.get(key)
        if place is not None:
            rows[place] = row
            return "Updated"
        self._places[key] = len(self.keys)
        self.keys.append(key)
        rows.append(row)
        return "Inserted"

    def _take(self, key: Key, rows: list[int]) -> str | None:
        """The last row takes the place of the one that goes. None: there is no such row."""
        place = self._places.pop(key, None)
        if place is None:
            return None
        last, row = self.keys.pop(), rows.pop()
        if last != key:
            rows[place] = row
            self.keys[place], self._places[last] = last, place
        return "Deleted"
