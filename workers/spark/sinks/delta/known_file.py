"""A file of a Delta table, and which keys it may hold. Pure.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md, "Per-file Statistics".
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Bound = int | bytes
"""A whole number, or the bytes of a text, by which Spark orders texts. The values of a column are all the one or all the other."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a table: Delta's ``AddFile``, and what its statistics say of its rows; None where they do not say it.

    ``octets`` is its size. ``rows`` counts the marked rows too. ``lowest`` and ``highest`` are bounds of the key's first column; of a long
    text Delta writes a shorter bound.
    """

    add: Any
    octets: int
    rows: int | None
    lowest: Bound | None
    highest: Bound | None

    @classmethod
    def of(cls, add: Any, column: str | None) -> KnownFile:
        """The file of an ``AddFile``. ``column`` is the name, in the files, of the key's first column if it has whole numbers or texts."""
        text = add.stats()
        found = json.loads(str(text)) if text else {}
        low, high = (_bound(found.get(side, {}).get(column)) for side in ("minValues", "maxValues"))
        return cls(add, int(add.size()), found.get("numRecords"), low, high)

    def may_hold(self, ordered: Sequence[Any] | None) -> bool:
        """Whether the file may have a row with one of these keys, which are ordered bounds; None if they are not known."""
        if ordered is None or self.lowest is None or self.highest is None:
            return True
        return bisect_left(ordered, self.lowest) < bisect_right(ordered, self.highest)

    def may_hold_between(self, ends: tuple[Any, Any] | None) -> bool:
        """Whether the file may have a row with a key between these bounds; None if they are not known."""
        if ends is None or self.lowest is None or self.highest is None:
            return True
        return bool(self.lowest <= ends[1] and ends[0] <= self.highest)


def text_bound(text: str) -> Bound:
    """A text as a bound. Half of a pair of surrogates is no error."""
    return text.encode(errors="surrogatepass")


def _bound(value: object) -> Bound | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case str():
            # Delta does not cut a pair of surrogates in two. The order of what another writer has left of one is not known.
            return None if any("\ud800" <= letter <= "\udfff" for letter in value) else text_bound(value)
        case _:
            return None
