"""Incremental snapshots against a model of PostgreSQL: in whatever order things happen, the topics hold the tables in the end.

The coordinator that is tested is the one that runs. That the model finds faults is tested too: each mutant below leaves out one rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from connector.errors import CdcError
from connector.incremental import coordinator as coordinator_module
from connector.incremental.coordinator import Coordinator
from connector.incremental.coordinator_events import ChunkRead, Event, PauseAsked, ResumeAsked, SnapshotAsked, StopAsked
from connector.incremental.state import Collection
from connector.incremental.window import Window
from connector.incremental.windowed_chunk import Verdict, WindowedChunk
from tests.support.chunk_model import BrokenRuleError, Change, World
from tests.support.chunk_world_copies import restored, saved

MOST_AGAIN = 1
"""Chunks read again before what they wait for must be seen: without an end the orders would have none."""


@dataclass(frozen=True)
class Plan:
    """The tables' keys, the rows of a chunk, and the transactions and signals that come, each in this order; late ones are marked.

    ``asked`` are the tables of the first signal, all by default; ``restarts`` tells how often the worker starts again.
    """

    rows: Mapping[str, tuple[str, ...]]
    commits: tuple[tuple[bool, tuple[Change, ...]], ...]
    size: int = 1
    read_only: bool = False
    signals: tuple[Event[bytes], ...] = ()
    asked: tuple[str, ...] | None = None
    restarts: int = 0


Action = tuple[str, int]


def enabled(world: World, plan: Plan, path: Sequence[Action]) -> list[Action]:
    """What may happen next."""
    found: list[Action] = []
    for kind, most in (("commit", len(plan.commits)), ("signal", len(plan.signals)), ("restart", plan.restarts)):
        done = sum(one == kind for one, _ in path)
        if done < most:
            found.append((kind, done))
    found += [("show", number) for number in range(len(world.late))]
    if world.behind:
        found.append(("feed", 1 if plan.read_only else world.transaction_left()))
    if not world.reader_waits and not (world.begins_chunk and world.late and world.again >= MOST_AGAIN):
        found.append(("advance", 0))
    return found


def perform(world: World, plan: Plan, action: Action) -> bool:
    """Whether it could be done."""
    kind, number = action
    if kind == "commit":
        late, changes = plan.commits[number]
        return world.commit(*changes, late=late)
    if kind == "restart":
        return world.restart()
    if kind == "signal":
        world.tell(plan.signals[number])
    elif kind == "show":
        world.show(number)
    elif kind == "feed":
        world.feed(number)
    else:
        world.advance()
    return True


def explore(plan: Plan, coordinator: type[Coordinator[bytes]] = Coordinator) -> int:
    """Go through all orders; the number of different worlds. Raises BrokenRuleError with the order that led there."""
    seen: set[object] = set()
    beginning = World(plan.rows, size=plan.size, read_only=plan.read_only, asked=plan.asked, coordinator=coordinator)
    # Each path with the world before its last step.
    waiting: list[tuple[tuple[Action, ...], bytes]] = [((), saved(beginning))]
    while waiting:
        path, before = waiting.pop()
        world = restored(before)
        try:
            while True:
                if path and not perform(world, plan, path[-1]):
                    break
                mark = world.fingerprint(), sum(kind == "signal" for kind, _ in path), sum(kind == "restart" for kind, _ in path)
                if mark in seen:
                    break
                seen.add(mark)
                ways = enabled(world, plan, path)
                if not ways:
                    assert world.ended, (world.phase, world.behind)
                    world.check()
                    break
                if len(ways) > 1:
                    before = saved(world)
                    waiting += [((*path, way), before) for way in ways[:-1]]
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


def signal_plans() -> Iterator[Plan]:
    more = SnapshotAsked((Collection("public.b"),), "t")
    pause = (PauseAsked(), ResumeAsked())
    one, two = {"a": ("1",)}, {"a": ("1",), "b": ("1",)}
    for read_only in (False, True):
        yield Plan(BOTH, ((False, (PUT1,)),), signals=pause, read_only=read_only)
        yield Plan(one, ((False, (EMPTY,)),), signals=pause, read_only=read_only)
        yield Plan(two, ((False, (("put", "b", "1"),)),), signals=(more,), asked=("a",), read_only=read_only)
        yield Plan(two, (), signals=(more, *pause), asked=("a",), read_only=read_only)
        yield Plan(two, (), signals=(*pause, more), asked=("a",), read_only=read_only)
        yield Plan(two, ((False, (("put", "b", "1"),)),), signals=(StopAsked(("public.a",)),), read_only=read_only)
        yield Plan(two, (), signals=(StopAsked(()), more), asked=("a",), read_only=read_only)
        yield Plan(two, (), signals=(more, StopAsked(("public.a",))), asked=("a",), read_only=read_only)
    yield Plan({"a": ("1",)}, ((True, (PUT1,)),), signals=pause)


def restart_plans() -> Iterator[Plan]:
    for read_only in (False, True):
        yield Plan(BOTH, ((False, (PUT1,)),), restarts=1, read_only=read_only)
        yield Plan({"a": ("1",), "b": ("1",)}, (), restarts=2, read_only=read_only)
        yield Plan({"a": ("1",)}, ((False, (EMPTY,)),), restarts=1, read_only=read_only)
        yield Plan({"a": ("1",)}, (), restarts=1, signals=(PauseAsked(), ResumeAsked()), read_only=read_only)


def named(plan: Plan) -> str:
    signals = " ".join(type(signal).__name__ for signal in plan.signals)
    return f"{'read-only ' * plan.read_only}{plan.commits}{signals}{' restart' * plan.restarts}"


def shared(found: Iterable[Plan]) -> list[Any]:
    """Each takes about a second: fifteen of sixteen are for the long run."""
    return [pytest.param(plan, id=named(plan), marks=[pytest.mark.long] if at % 16 else []) for at, plan in enumerate(found)]


@pytest.mark.parametrize("plan", shared([*plans(), *read_only_plans()]))
def test_in_all_orders_the_topics_hold_the_tables(plan: Plan) -> None:
    assert explore(plan) > 50


@pytest.mark.parametrize("plan", shared(signal_plans()))
def test_whenever_signals_come_the_topics_hold_the_tables(plan: Plan) -> None:
    assert explore(plan) > 50


@pytest.mark.parametrize("plan", shared(restart_plans()))
def test_whenever_the_worker_starts_again_the_topics_hold_the_tables(plan: Plan) -> None:
    assert explore(plan) > 50


class _NoDedup(Coordinator[bytes]):
    """The window hears nothing."""

    def _attach(self, chunk: WindowedChunk[bytes]) -> None:
        pass


class _Late(Coordinator[bytes]):
    """The window opens when the chunk has been read."""

    def _attach(self, chunk: WindowedChunk[bytes]) -> None:
        pass

    def _fill(self, event: ChunkRead[bytes]) -> None:
        if self._chunk is not None:
            super()._attach(self._chunk)
        super()._fill(event)


class _Hasty(Coordinator[bytes]):
    """The position moves before the rows are sent."""

    def _window_closes(self) -> None:
        if self._chunk is not None:
            self.state.position = self._chunk.last or self.state.position
        super()._window_closes()


class _StopsAtOnce(Coordinator[bytes]):
    """A stop takes effect while a window is open."""

    def _stop(self, entries: tuple[str, ...]) -> None:
        super()._stop(entries)
        self._apply_stops()


class _NeverGoesOn(Coordinator[bytes]):
    """After a pause the next chunk is not read."""

    def _want(self, seconds: float = 0.0) -> None:
        if not self.state.position:
            super()._want(seconds)


class _NeverAgain(WindowedChunk[bytes]):
    """What the chunk could not see does not matter."""

    def listening(self, seen: frozenset[int]) -> None:
        pass


class _ListAlone(WindowedChunk[bytes]):
    """Transactions after the snapshot's end do not matter."""

    def verdict(self) -> Verdict:
        found, visible = super().verdict(), self._visible
        return Verdict.COMPLETE if found is Verdict.UNSEEN and visible is not None and not visible.open & self.seen else found


class _OldWindow(WindowedChunk[bytes]):
    """The window of one table continues with the next table."""

    def aim(self, table: str) -> bool:
        self.table = table
        return True


class _Deaf(Window[bytes]):
    def emptied(self) -> None:
        """Truncated or not."""


class _TruncatedOrNot(WindowedChunk[bytes]):
    """A truncation does not matter."""

    def aim(self, table: str) -> bool:
        found = super().aim(table)
        if found:
            self.window = _Deaf()
        return found


STOPPED = Plan({"a": ("1", "2"), "b": ("1", "2")}, (), signals=(StopAsked(("public.a",)),))
GOES_ON = Plan(BOTH, (), signals=(PauseAsked(), ResumeAsked()))


@pytest.mark.parametrize(
    ("mutant", "plan"),
    [(_NoDedup, CHANGED), (_Late, CHANGED), (_Hasty, CHANGED), (_StopsAtOnce, STOPPED), (_NeverGoesOn, GOES_ON)],
)
def test_the_model_finds_a_rule_that_the_coordinator_leaves_out(mutant: type[Coordinator[bytes]], plan: Plan) -> None:
    with pytest.raises((AssertionError, CdcError)):
        explore(plan, mutant)


@pytest.mark.parametrize(
    ("mutant", "plan"), [(_NeverAgain, HIDDEN), (_ListAlone, HIDDEN), (_OldWindow, NEXT_TABLE), (_TruncatedOrNot, TRUNCATED)]
)
def test_the_model_finds_a_rule_that_the_chunk_leaves_out(
    mutant: type[WindowedChunk[bytes]], plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator_module, "WindowedChunk", mutant)
    with pytest.raises(BrokenRuleError):
        explore(plan)


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
TestLongerWithWatermarks.settings = settings(max_examples=6 * settings().max_examples // 10, stateful_step_count=40, deadline=None)
TestLongerReadOnly = ReadOnlySnapshot.TestCase
TestLongerReadOnly.settings = settings(max_examples=6 * settings().max_examples // 10, stateful_step_count=40, deadline=None)
