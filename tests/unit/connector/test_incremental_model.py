"""Incremental snapshots against a model of PostgreSQL: in whatever order things happen, the topics tell the tables in the end.

What the model finds when the code is wrong is tested too: each of the mutants below is the reader of chunks with one rule left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.chunk_model import BrokenRuleError, Change, World

from connector.incremental import IncrementalSnapshot
from connector.incremental_chunk import Chunk, Closed, Visibility
from connector.stream import Stream
from connector.window import Key, Window

MOST_AGAIN = 1
"""Chunks read again before what they wait for must be seen: without an end the orders would have none."""


@dataclass(frozen=True)
class Plan:
    """The tables' keys, the rows of a chunk, and the transactions that come, in this order; late ones are marked."""

    rows: Mapping[str, tuple[str, ...]]
    commits: tuple[tuple[bool, tuple[Change, ...]], ...]
    size: int = 1
    read_only: bool = False


Action = tuple[str, int]


def enabled(world: World, plan: Plan, done: int) -> list[Action]:
    """What may happen next."""
    found: list[Action] = []
    if done < len(plan.commits):
        found.append(("commit", done))
    found += [("show", number) for number in range(len(world.late))]
    if world.behind:
        found.append(("feed", 1 if plan.read_only else world.transaction_left()))
    if not world.reader_waits and not (world.step == "open" and world.late and world.again >= MOST_AGAIN):
        found.append(("advance", 0))
    return found


def perform(world: World, plan: Plan, action: Action) -> bool:
    """Whether it could be done."""
    kind, number = action
    if kind == "commit":
        late, changes = plan.commits[number]
        return world.commit(*changes, late=late)
    if kind == "show":
        world.show(number)
    elif kind == "feed":
        world.feed(number)
    else:
        world.advance()
    return True


def explore(plan: Plan, chunk_class: Callable[[str, Stream], Chunk[bytes]] = Chunk) -> int:
    """Go through all orders; the number of different worlds. Raises BrokenRuleError with the order that led there."""
    seen: set[object] = set()

    def replay(path: Sequence[Action]) -> World:
        world = World(plan.rows, size=plan.size, read_only=plan.read_only, chunk_class=chunk_class)
        for action in path:
            perform(world, plan, action)
        return world

    waiting: list[tuple[Action, ...]] = [()]
    while waiting:
        path = waiting.pop()
        world = replay(path[:-1])
        try:
            while True:
                if path and not perform(world, plan, path[-1]):
                    break
                mark = world.fingerprint()
                if mark in seen:
                    break
                seen.add(mark)
                done = sum(kind == "commit" for kind, _ in path)
                ways = enabled(world, plan, done)
                if not ways:
                    assert world.ended, (world.step, world.behind)
                    world.check()
                    break
                waiting += [(*path, way) for way in ways[:-1]]
                path = (*path, ways[-1])
        except BrokenRuleError as broken:
            raise BrokenRuleError(f"{broken}; {plan}; {' '.join(kind if kind != 'show' else f'show{n}' for kind, n in path)}") from broken
    return len(seen)


PUT1, PUT2, PUT3 = ("put", "a", "1"), ("put", "a", "2"), ("put", "a", "3")
DROP1, DROP2 = ("drop", "a", "1"), ("drop", "a", "2")
UP, DOWN = ("move", "a", "1>2"), ("move", "a", "2>1")
EMPTY = ("empty", "a", "")


BOTH = {"a": ("1", "2")}
CHANGED = Plan(BOTH, ((False, (PUT1,)), (False, (DROP2,))))
HIDDEN = Plan(BOTH, ((True, (PUT1, PUT2)),), read_only=True, size=2)
TRUNCATED = Plan(BOTH, ((False, (EMPTY,)), (False, (PUT2,))), size=2)
NEXT_TABLE = Plan({"a": (), "b": ("1",)}, ((False, (PUT1,)), (False, (DROP1,))))
"""The same keys in two tables: what changes in one says nothing of the other."""


def plans() -> Iterator[Plan]:
    both = BOTH
    for first, second in product((PUT1, DROP1, PUT2, DROP2), repeat=2):
        yield Plan(both, ((False, (first,)), (False, (second,))))
    for late in (PUT1, DROP1, PUT2):
        yield Plan(both, ((True, (late,)), (False, (PUT2 if late is not PUT2 else PUT1,))), size=2)
    yield Plan({"a": ("1",)}, ((False, (UP,)),))
    yield Plan({"a": ("1",)}, ((True, (UP,)), (False, (DOWN,))), size=2)
    yield Plan({"a": ("2",)}, ((False, (DOWN,)), (False, (PUT1,))))
    yield TRUNCATED
    yield Plan({"a": ("1",)}, ((False, (EMPTY, PUT1)), (False, (DROP1,))))
    yield Plan({"a": ("1",), "b": ("1",)}, ((False, (PUT1,)), (False, (("put", "b", "1"),))))
    yield NEXT_TABLE
    yield Plan(both, ((False, (PUT1, DROP2)), (True, (PUT2,)), (False, (DROP1,))), size=2)


def read_only_plans() -> Iterator[Plan]:
    both = BOTH
    for first, second in ((PUT1, DROP1), (DROP2, PUT2), (UP, PUT1), (EMPTY, PUT2)):
        yield Plan(both, ((False, (first,)), (False, (second,))), size=2, read_only=True)
    yield HIDDEN
    yield Plan(both, ((True, (DROP1,)), (True, (PUT2,))), read_only=True, size=2)


@pytest.mark.parametrize("plan", [*plans(), *read_only_plans()], ids=lambda plan: f"{'read-only ' * plan.read_only}{plan.commits}")
def test_in_all_orders_the_topics_tell_the_tables(plan: Plan) -> None:
    assert explore(plan) > 50


class _NoDedup(Chunk[bytes]):
    """The window hears of nothing."""

    def _attach(self) -> None:
        super()._attach()
        self._stream.close_window()


class _Late(Chunk[bytes]):
    """The window opens when the chunk has been read."""

    def aim(self, table: str) -> None:
        self._table, self._window = table, Window()

    def open(self) -> None:
        self._opened = True

    def fill(self, keys: Sequence[Key], lines: Sequence[bytes], visible: Visibility, last: Any) -> None:
        self._attach()
        super().fill(keys, lines, visible, last)


class _NeverAgain(Chunk[bytes]):
    """What the chunk could not see does not matter."""

    def _attach(self) -> None:
        super()._attach()
        self._seen = frozenset()


class _ListAlone(Chunk[bytes]):
    """Transactions behind the snapshot's end do not matter."""

    def fill(self, keys: Sequence[Key], lines: Sequence[bytes], visible: Visibility, last: Any) -> None:
        nowhere = next(xid for xid in range(2**31) if xid not in visible.open)
        listed = [xid for xid in self._seen if xid in visible.open]
        super().fill(keys, lines, Visibility((nowhere + 2**31 - 1) % 2**32, frozenset(listed)), last)


class _OldWindow(Chunk[bytes]):
    """The window of one table goes on with the next."""

    def aim(self, table: str) -> None:
        self._table = table
        self._attach()


class _Hasty(Chunk[bytes]):
    """The position moves before the rows are sent."""

    def close(self, state: IncrementalSnapshot, send: Callable[[list[bytes]], None]) -> Closed:
        state.position = self._last or state.position
        return super().close(state, send)


class _Deaf(Window[bytes]):
    def emptied(self) -> None:
        """Truncated or not."""


class _TruncatedOrNot(Chunk[bytes]):
    """A truncation does not matter."""

    def aim(self, table: str) -> None:
        self._table, self._window = table, _Deaf()
        self._attach()


@pytest.mark.parametrize(
    ("mutant", "plan"),
    [
        (_NoDedup, CHANGED),
        (_Late, CHANGED),
        (_NeverAgain, HIDDEN),
        (_ListAlone, HIDDEN),
        (_OldWindow, NEXT_TABLE),
        (_Hasty, CHANGED),
        (_TruncatedOrNot, TRUNCATED),
    ],
)
def test_the_model_finds_a_rule_that_is_left_out(mutant: type[Chunk[bytes]], plan: Plan) -> None:
    with pytest.raises(BrokenRuleError):
        explore(plan, mutant)


KEYS = [str(key) for key in range(1, 6)]
CHANGES = st.one_of(
    st.tuples(st.sampled_from(["put", "put", "drop"]), st.sampled_from("ab"), st.sampled_from(KEYS)),
    st.tuples(
        st.just("move"),
        st.sampled_from("ab"),
        st.lists(st.sampled_from(KEYS), min_size=2, max_size=2, unique=True).map(">".join),
    ),
    st.tuples(st.just("empty"), st.sampled_from("ab"), st.just("")),
)


class Snapshot(RuleBasedStateMachine):
    """Longer than :func:`explore` can: five keys in two tables, any number of changes, transactions read in parts."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World({"a": KEYS[:4], "b": KEYS[1:]}, size=2, read_only=self.read_only)

    read_only = False

    @rule(changes=st.lists(CHANGES, min_size=1, max_size=3, unique_by=lambda change: change[1]), late=st.booleans())
    def commit(self, changes: list[Change], late: bool) -> None:
        self.world.commit(*changes, late=late)

    @precondition(lambda self: self.world.late)
    @rule(data=st.data())
    def show(self, data: st.DataObject) -> None:
        self.world.show(data.draw(st.integers(0, len(self.world.late) - 1)))

    @precondition(lambda self: self.world.behind)
    @rule(count=st.integers(1, 6))
    def feed(self, count: int) -> None:
        self.world.feed(count)

    @rule(steps=st.integers(1, 4))
    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self.world.advance()

    @invariant()
    def ended(self) -> None:
        if self.world.ended and not self.world.late:
            self.world.check()

    def teardown(self) -> None:
        world = self.world
        while world.late:
            world.show()
        while not world.ended:
            world.feed(world.behind)
            world.advance()
        world.check()


class ReadOnlySnapshot(Snapshot):
    read_only = True


TestLongerWithWatermarks = Snapshot.TestCase
TestLongerWithWatermarks.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLongerReadOnly = ReadOnlySnapshot.TestCase
TestLongerReadOnly.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
