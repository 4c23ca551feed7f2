"""Parts of tables, who may read them when, and the markers on the rows at their edges."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from connector.snapshot.parts import Deal, Handout, Marked, Part, TableSize, table_parts, wanted_parts
from connector.snapshot.plan import Extent
from tests.support.each_case import each_case

SEEDS = range(300)


@dataclass
class Play:
    """Readers that work through parts whose rows are given, in an order that chance decides, and what reaches Kafka."""

    parts: list[list[Part]]
    rows: dict[tuple[int, int], list[str]]
    deal: Deal[str]
    chance: random.Random
    readers: int
    sent: list[tuple[str, str]] = field(default_factory=list)
    """Row and marker in the order of arrival."""
    first_alone: bool = True

    def run(self) -> None:
        free = self.readers
        opening: list[Handout] = []
        reading: list[Handout] = []
        reads: list[Handout] = []
        while not self.deal.over:
            while free and (handout := self.deal.take()) is not None:
                free -= 1
                (opening if handout.ask else reading).append(handout)
            steps = [(self._open, opening), (self._read, reading), (self._acknowledge, reads)]
            step, queue = self.chance.choice([(step, queue) for step, queue in steps if queue])
            handout = queue.pop(self.chance.randrange(len(queue)))
            if step == self._open and len(self._rows(handout)) > 1:
                self._open(handout)
                reading.append(handout)
            elif step == self._acknowledge:
                self._acknowledge(handout)
            else:
                self._read(handout)
                reads.append(handout)
                free += 1
        self._send(self.deal.finish())

    def _rows(self, handout: Handout) -> list[str]:
        return self.rows[handout.part.table, handout.part.number]

    def _open(self, handout: Handout) -> None:
        self._send(self.deal.opened(handout.part, self._rows(handout)[0]))

    def _read(self, handout: Handout) -> None:
        rows = self._rows(handout)
        between = rows[:-1]
        if between and handout.ask:
            between = between[1:]
        elif between and handout.part.of == 1:
            self.sent.append((between.pop(0), "first_in_data_collection"))
        self.sent += [(row, "true") for row in between]
        self._send(self.deal.read(handout.part, rows[-1] if rows else None))

    def _acknowledge(self, handout: Handout) -> None:
        self._send(self.deal.acknowledged(handout.part))

    def _send(self, rows: Sequence[Marked[str]]) -> None:
        self.sent += [(marked.row, marked.word) for marked in rows]


def played(counts: Sequence[Sequence[int]], *, seed: int, readers: int = 3, opening: bool = True) -> list[tuple[str, str]]:
    """What is sent for tables whose parts have so many rows each; row ``t.p.n`` is the nth of part p of table t."""
    parts = [[Part(t, p, len(own), Extent()) for p in range(len(own))] for t, own in enumerate(counts)]
    rows = {(t, p): [f"{t}.{p}.{n}" for n in range(count)] for t, own in enumerate(counts) for p, count in enumerate(own)}
    chance = random.Random(seed)
    weights = [chance.randrange(100) for _ in counts] if chance.random() < 0.5 else None
    play = Play(parts, rows, Deal(parts, weights, opening=opening), chance, readers)
    play.run()
    return play.sent


def of_table(sent: Sequence[tuple[str, str]], table: int) -> list[tuple[str, str]]:
    return [(row, word) for row, word in sent if row.startswith(f"{table}.")]


SHAPES: list[list[list[int]]] = [
    [[5, 4, 3]],
    [[4, 4], [3], [2, 2, 2, 2]],
    [[1], [1], [1]],
    [[1, 0, 3], [0, 1, 0], [1, 1]],
    [[1], [2]],
    [[3], [0], [0]],
    [[0, 0, 2, 1], [4]],
    [[2], [2], [2], [2], [2], [2]],
    [[1, 1, 1, 1]],
    [[1, 0], [0, 0], [1]],
]


@each_case("counts", SHAPES, ids=str)
def test_rows_come_once_and_tables_keep_their_edges(counts: list[list[int]]) -> None:
    for seed in SEEDS:
        sent = played(counts, seed=seed)
        assert sorted(row for row, _ in sent) == sorted(
            f"{t}.{p}.{n}" for t, own in enumerate(counts) for p, count in enumerate(own) for n in range(count)
        )
        words = [word for _, word in sent]
        assert words.count("last") == 1
        assert words[-1] == "last"
        # A sole row is the last before it is the first.
        assert words.count("first") == (sum(map(sum, counts)) > 1), sent
        assert sent[0][0] == f"0.{next(p for p, count in enumerate(counts[0]) if count)}.0"
        for table, own in enumerate(counts):
            came = of_table(sent, table)
            total = sum(own)
            if not total:
                assert not came
                continue
            filled = [p for p, count in enumerate(own) if count]
            assert came[-1][0] == f"{table}.{filled[-1]}.{own[filled[-1]] - 1}"
            assert came[-1][1] in (("last_in_data_collection", "last") if total > 1 or table else ("first", "last"))
            if total > 1:
                assert came[0] == (f"{table}.{filled[0]}.0", "first_in_data_collection" if table else "first")
            assert {word for _, word in came[1:-1]} <= {"true"}


def test_an_empty_first_table_leaves_the_snapshot_without_a_first_row() -> None:
    # As recorded: what is first belongs to the first table.
    for seed in SEEDS:
        sent = played([[0, 0], [3], [2, 2]], seed=seed)
        words = [word for _, word in sent]
        assert "first" not in words
        assert words.count("first_in_data_collection") == 2
        assert words[-1] == "last"


def test_one_reader_a_table_marks_no_row_first() -> None:
    for seed in SEEDS:
        sent = played([[3], [2], [1], [4]], seed=seed, opening=False)
        words = [word for _, word in sent]
        assert "first" not in words
        assert words.count("last") == 1
        assert words[-1] == "last"
        assert [of_table(sent, t)[0][1] for t in (0, 1, 3)] == ["first_in_data_collection"] * 3


def test_nothing_is_read_beside_the_part_with_the_first_row() -> None:
    parts = [[Part(0, 0, 2, Extent()), Part(0, 1, 2, Extent())], [Part(1, 0, 1, Extent())]]
    deal: Deal[str] = Deal(parts, [1, 100], opening=True)
    opener = deal.take()
    assert opener == Handout(parts[0][0], ask=True)
    assert deal.take() is None
    assert deal.opened(parts[0][0], "x") == [Marked("x", "first")]
    assert deal.take() == Handout(parts[1][0], ask=False), "from now on the heaviest comes first"
    assert deal.take() == Handout(parts[0][1], ask=False)
    assert deal.take() is None


def test_a_table_is_opened_before_its_parts_overtake_each_other() -> None:
    parts = [[Part(0, 0, 1, Extent())], [Part(1, p, 3, Extent()) for p in range(3)]]
    deal: Deal[str] = Deal(parts, None, opening=True)
    assert deal.take() == Handout(parts[0][0], ask=True)
    deal.opened(parts[0][0], "a")
    assert deal.take() == Handout(parts[1][0], ask=True)
    assert deal.take() is None, "its first row is not known"
    assert deal.read(parts[1][0], None) == []
    assert deal.take() == Handout(parts[1][1], ask=True)
    assert deal.take() is None
    assert deal.opened(parts[1][1], "b") == [Marked("b", "first_in_data_collection")]
    assert deal.take() == Handout(parts[1][2], ask=False)


def test_a_snapshot_without_rows_ends_without_records() -> None:
    assert played([[0], [0, 0], [0]], seed=1) == []


def test_no_tables_are_over_at_once() -> None:
    deal: Deal[str] = Deal([], None, opening=True)
    assert deal.over
    assert deal.take() is None
    assert deal.finish() == []


@pytest.mark.parametrize(
    ("pages", "wanted", "edges"),
    [
        (None, 8, [(0, None)]),
        (0, 8, [(0, None)]),
        (127, 8, [(0, None)]),
        (128, 8, [(0, 64), (64, 128)]),
        (1000, 1, [(0, None)]),
        (1000, 3, [(0, 333), (333, 666), (666, 1000)]),
    ],
)
def test_pages_are_cut_into_parts(pages: int | None, wanted: int, edges: list[tuple[int, int | None]]) -> None:
    parts = table_parts(7, TableSize(pages, 0), wanted)
    assert [(part.extent.first, part.extent.end) for part in parts] == edges
    assert [part.extent.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert [(part.table, part.number, part.of) for part in parts] == [(7, n, len(parts)) for n in range(len(parts))]


def test_a_tables_own_multiplier_counts() -> None:
    assert wanted_parts("public.a", 2, 3, {"public.b": 5}) == 6
    assert wanted_parts("public.b", 2, 3, {"public.b": 5}) == 10
