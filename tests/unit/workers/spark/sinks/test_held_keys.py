"""Which rows a table has after a batch; without Spark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.sinks.held_keys import HeldKeys

KEYS = st.lists(st.integers(0, 9).map(str), unique=True)


def test_rows_have_the_places_of_their_keys() -> None:
    held = HeldKeys(["1", "2", "3"])
    rows, counts = held.changed([(False, "1"), (False, "9"), (False, "2"), (True, "4"), (True, "3")])
    assert dict(zip(held.keys, rows, strict=True)) == {"4": 3 + 3, "3": 3 + 4}
    assert counts == {"Inserted": 1, "Updated": 1, "Deleted": 2}
    assert held.changed([(False, "3"), (False, "4")]) == ([], {"Inserted": 0, "Updated": 0, "Deleted": 2})
    assert held.keys == []


@given(KEYS, st.lists(st.tuples(KEYS, st.integers(0, 1023))))
def test_batches_leave_the_rows_that_a_table_has(first: list[str], batches: list[tuple[list[str], int]]) -> None:
    held, there = HeldKeys(first), {key: f"{key} of the table" for key in first}
    rows = [there[key] for key in first]
    for number, (keys, bits) in enumerate(batches):
        changes = [(bool(bits >> at & 1), key) for at, key in enumerate(keys)]
        new = [f"{key} of batch {number}" for key in keys]
        before = {*there}
        for (kept, key), row in zip(changes, new, strict=True):
            if kept:
                there[key] = row
            else:
                there.pop(key, None)
        places, counts = held.changed(changes)
        every = [*rows, *new]
        rows = [every[at] for at in places]
        assert dict(zip(held.keys, rows, strict=True)) == there
        assert len(held) == len(rows) == len(there)
        assert counts["Inserted"] == sum(kept and key not in before for kept, key in changes)
        assert counts["Deleted"] == len(before - {*there})
