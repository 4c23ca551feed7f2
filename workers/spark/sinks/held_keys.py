"""The keys of rows that are held in Java: which of the former rows and of a batch's rows a table has after the batch. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final


class HeldKeys:
    """The keys of a table's rows, as texts, in the rows' order. No key is there twice."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts: Final = list(texts)
        self._places: Final = {text: at for at, text in enumerate(self.texts)}

    def __len__(self) -> int:
        return len(self.texts)

    def changed(self, changes: Sequence[tuple[bool, str]]) -> tuple[list[int], Counter[str]]:
        """Apply changes of rows, one of each: whether it is a new row or, if not, goes; and its key.

        Return the place of each row of the table, among its former rows followed by those of the changes; and how many were inserted,
        updated and deleted, by the words of Delta's history.
        """
        rows, first = list(range(len(self.texts))), len(self.texts)
        done = Counter(self._put(key, rows, first + at) if new else self._take(key, rows) for at, (new, key) in enumerate(changes))
        return rows, Counter({word: done[word] for word in ("Inserted", "Updated", "Deleted")})

    def _put(self, key: str, rows: list[int], row: int) -> str:
        place = self._places.get(key)
        if place is not None:
            rows[place] = row
            return "Updated"
        self._places[key] = len(self.texts)
        self.texts.append(key)
        rows.append(row)
        return "Inserted"

    def _take(self, key: str, rows: list[int]) -> str | None:
        """The last row takes the place of the one that goes. None: there is no such row."""
        place = self._places.pop(key, None)
        if place is None:
            return None
        last, row = self.texts.pop(), rows.pop()
        if last != key:
            rows[place] = row
            self.texts[place], self._places[last] = last, place
        return "Deleted"
