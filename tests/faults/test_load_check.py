"""The check of the kill tests sees what it is there to see."""

from __future__ import annotations

import pytest

from tests.support.load import Seen, faults

HISTORY = {("item", 1): [("u", 2), ("d", 2), ("c", 3), ("u", 4)]}


def records(*texts: str) -> list[Seen]:
    """``u2`` is an update to version 2; ``-`` a tombstone."""
    return [Seen(1, "tombstone", 0) if text == "-" else Seen(1, text[0], int(text[1:])) for text in texts]


@pytest.mark.parametrize(
    ("came", "restarts"),
    [
        ("r1 u2 d2 - c3 u4", 0),
        ("u2 d2 - c3 u2 d2 - c3 u4", 1),
        ("r1 u2 r3 u2 d2 - c3 u4", 1),
        ("u2 u2 u2 d2 - c3 u4", 2),
    ],
)
def test_a_whole_history_passes(came: str, restarts: int) -> None:
    assert faults("item", HISTORY, records(*came.split()), {1: 4}, restarts) == []


@pytest.mark.parametrize(
    ("came", "restarts", "reported"),
    [
        ("u2 d2 - u4", 0, "item 1: u of version 4 came, steps 2 to 2 did not"),
        ("r1 u2 d2 - c3", 0, "item 1: 1 last steps are missing"),
        ("u2 d2 - c3 u4 u9", 0, "item 1: u of version 9 was never committed"),
        ("r7 u2 d2 - c3 u4", 0, "item 1: the snapshot read version 7, which was never committed"),
        ("u2 u2 d2 - c3 u4", 0, "item 1: replayed 1 times in 0 restarts"),
        ("u2 d2 - c3 u4 u2", 1, "item 1: the last event says 2, the table 4"),
        ("u2 d2 - c3 u4 -", 0, "item 1: the last event says None, the table 4"),
    ],
)
def test_wrong_results_are_reported(came: str, restarts: int, reported: str) -> None:
    assert reported in faults("item", HISTORY, records(*came.split()), {1: 4}, restarts)


def test_a_table_without_events_is_missing_all_of_them() -> None:
    assert faults("item", HISTORY, [], {1: 4}, 0) == ["item 1: 4 last steps are missing", "item 1: the last event says None, the table 4"]
