"""The stored offset only grows, the slot never passes it, and no event is skipped, for any order of events."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from connector.catalog.snapshot_mode import SnapshotMode
from connector.delivery.flush import AckLedger
from connector.delivery.frontier import Frontier, Mark
from connector.delivery.offsets import Position, StoredOffset
from connector.start.decision import SlotState, decide
from connector.types.codec import Column
from tests.support import wal_script
from tests.support.stream_rig import INT4, StreamRig, catalog_table, relation_of

T = catalog_table("t", Column("id", INT4, not_null=True), primary_key=["id"])
R = relation_of(T)
TIME = 1_700_000_000_000_000


def stored_start(position: Position) -> int:
    return StoredOffset.parse(position.to_offset()).start


def idle(event: int, commit: int | None = None) -> Position:
    return Position(event, commit)


def inside(event: int, commit: int | None, txid: int = 7) -> Position:
    return Position(event, commit, "INSERT", txid)


def test_a_commit_before_a_keepalive_is_not_marked_again() -> None:
    frontier = Frontier()
    frontier.begin(50)
    frontier.mark(idle(100, 100))
    kept = frontier.mark(idle(200, 100))
    assert frontier.mark(idle(100, 100)) is kept


def test_a_transaction_after_a_keepalive_starts_where_the_keepalive_was() -> None:
    frontier = Frontier()
    frontier.begin(0)
    frontier.mark(idle(200, 100))
    # Its changes are older than the keepalive, its end is not.
    mark = frontier.mark(inside(150, 100))
    words = {"lsn": 150, "txId": 7, "lsn_proc": 150, "lsn_commit": 100, "messageType": "INSERT"}
    assert mark.position.to_offset() == words | {"lsn_passed": 200}
    assert stored_start(mark.position) == 200


def test_a_message_at_the_keepalive_s_lsn_is_not_forgotten_by_the_next_keepalive() -> None:
    frontier = Frontier()
    frontier.begin(0)
    frontier.mark(idle(200, 100))
    message = frontier.mark(Position(200, 200, "MESSAGE"))
    assert message.position.kind == "MESSAGE"
    assert frontier.mark(idle(200, 100)) is message


def test_a_message_before_the_keepalive_does_not_pass_over_one_that_begins_there() -> None:
    frontier = Frontier()
    frontier.begin(0)
    message = Position(150, 150, "MESSAGE")
    frontier.mark(message)
    frontier.mark(idle(200, 150))
    offset = StoredOffset.parse(frontier.mark(message).position.to_offset())
    assert (offset.start, offset.passed_message) == (200, 0)


def test_a_keepalive_does_not_lead_out_of_a_transaction_that_is_half_sent() -> None:
    frontier = Frontier()
    frontier.begin(0)
    frontier.mark(idle(200, 100))
    half = frontier.mark(inside(250, 100))
    assert frontier.mark(idle(200, 100)) is half


def test_the_state_of_an_incremental_snapshot_is_stored_though_the_position_stays() -> None:
    frontier = Frontier()
    frontier.begin(0)
    first = frontier.mark(idle(200, 100))
    frontier.stored(first)
    further = frontier.mark(replace(idle(100, 100), incremental=(("k", 1),)))
    assert further.position == replace(first.position, incremental=(("k", 1),))
    assert frontier.due(further) is further


def test_only_what_is_stored_is_confirmed() -> None:
    frontier = Frontier()
    frontier.begin(50)
    assert frontier.confirmed == 50
    mark = frontier.mark(idle(100, 100))
    assert (frontier.due(mark), frontier.confirmed) == (mark, 50)
    frontier.stored(mark)
    assert (frontier.due(mark), frontier.confirmed) == (None, 100)


def test_marks_of_an_earlier_run_are_not_due() -> None:
    frontier = Frontier()
    frontier.begin(50)
    earlier = frontier.mark(idle(100, 100))
    frontier.begin(400)
    assert frontier.due(earlier) is None
    frontier.stored(earlier)
    assert frontier.confirmed == 400
    assert stored_start(frontier.mark(idle(100, 100)).position) == 400


def test_a_first_keepalive_of_before_the_start_changes_nothing() -> None:
    frontier = Frontier()
    message = Position(300, 300, "MESSAGE")
    frontier.begin(300, message)
    # PostgreSQL begins to count where the slot stands, which may be before the offset.
    assert frontier.due(frontier.mark(idle(250, 300))) is None


@dataclass(slots=True)
class Open:
    """A transaction that has not committed: the LSN and id of each of its changes."""

    xid: int
    changes: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Wal:
    """What the server has written and decodes in order; each entry begins at its LSN."""

    end: int = 1000
    entries: list[tuple[int, Open | int | None]] = field(default_factory=list)
    """A commit's transaction, a message's id, or None for WAL of others."""
    open: list[Open] = field(default_factory=list)
    committed: set[int] = field(default_factory=set)
    """Ids of all changes and messages that must come to Kafka."""
    numbers: int = 0

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def write(self, entry: Open | int | None, size: int) -> None:
        self.entries.append((self.end, entry))
        self.end += size


COMMIT_SIZE = 5
KINDS = ("change", "change", "change", "commit", "commit", "message", "others")


class Runs(RuleBasedStateMachine):
    """A server, a task that streams from it, a Kafka whose acknowledgements come in any order, and what survives a kill."""

    def __init__(self) -> None:
        super().__init__()
        self.wal = Wal()
        self.slot = self.wal.end
        self.stored: dict[str, object] | None = None
        self.history: list[dict[str, object]] = []
        self.delivered: set[int] = set()
        self.state = 0
        self.read = self.reported = self.since = self.wal.end
        self.queue: list[bytes] = []

    @initialize(strategy=st.sampled_from(["no_validation", "trust_offset", "trust_slot", "trust_greater_lsn"]))
    def first_start(self, strategy: str) -> None:
        self.strategy = strategy
        self.start()

    # The server.

    @rule(
        kind=st.sampled_from(["change", "change", "change", "commit", "commit", "message", "others"]),
        which=st.integers(0, 2),
        same=st.booleans(),
    )
    def write(self, kind: str, which: int, same: bool) -> None:
        """Changes of up to three transactions at a time, two of them at one LSN if they are the ``same`` record's."""
        wal = self.wal
        if kind == "change":
            if which >= len(wal.open):
                wal.open.append(Open(wal.number()))
            wal.open[which % len(wal.open)].changes += [(wal.end, wal.number()) for _ in range(1 + same)]
            wal.write(None, 10)
        elif kind == "commit" and wal.open:
            transaction = wal.open.pop(which % len(wal.open))
            wal.committed |= {number for _, number in transaction.changes}
            wal.write(transaction, COMMIT_SIZE)
        elif kind == "message":
            wal.committed.add(number := wal.number())
            wal.write(number, 10)
        else:
            wal.write(None, 1 + which)

    def decode(self, at: int) -> None:
        """Read on to the end; a keepalive may come in the middle of what that gives, and says nothing of it."""
        frames: list[bytes] = []
        before = self.reported
        for lsn, entry in self.wal.entries:
            if lsn >= self.read and lsn >= self.since:
                frames += self.frames(lsn, entry)
        self.reported = self.read = max(self.wal.end, self.since)
        frames.insert(at % (len(frames) + 1), wal_script.keepalive(before))
        self.queue += frames

    def frames(self, lsn: int, entry: Open | int | None) -> list[bytes]:
        if isinstance(entry, int):
            return [wal_script.xlog_data(lsn, wal_script.message("p", str(entry).encode(), lsn=lsn + 10, transactional=False))]
        if entry is None:
            return []
        made = [wal_script.xlog_data(lsn, wal_script.begin(lsn, TIME, entry.xid))]
        made += [wal_script.xlog_data(at, wal_script.insert(R.oid, (str(number),))) for at, number in entry.changes]
        return [*made, wal_script.xlog_data(lsn, wal_script.commit(lsn, lsn + COMMIT_SIZE, TIME))]

    # The task.

    def start(self) -> None:
        offset = None if self.stored is None else StoredOffset.parse(self.stored)
        needed = [transaction.changes[0][0] for transaction in self.wal.open if transaction.changes]
        needed += [entry.changes[0][0] for lsn, entry in self.wal.entries if isinstance(entry, Open) and entry.changes and lsn >= self.slot]
        slot = SlotState("s", "pgoutput", True, True, "d", False, "", min([*needed, self.slot]), self.slot, "reserved")
        decision = decide(SnapshotMode.of("no_data"), slot, offset, self.strategy)
        assert not decision.snapshot
        self.slot = max(self.slot, decision.advance_slot)
        self.read = self.since = max(decision.start, self.slot)
        # As PostgreSQL does: until it has read on, its keepalives name the slot's position and not what it was asked for.
        self.reported = self.slot
        self.queue = []
        self.rig = StreamRig(T, offset=decision.offset, messages=True)
        self.rig.feed([wal_script.xlog_data(self.since, wal_script.relation(R))])
        self.frontier = Frontier()
        self.frontier.begin(self.since, decision.offset.position if decision.offset else None)
        self.ledger: AckLedger[Mark] = AckLedger()
        self.batches: dict[int, set[int]] = {}

    @rule(most=st.integers(1, 4), at=st.integers(0, 5))
    def receive(self, most: int, at: int) -> None:
        """A burst of the reader. A server that has sent all of it reports its position."""
        if not self.queue and self.read < self.wal.end:
            self.decode(at)
        taken, self.queue = self.queue[:most] or [wal_script.keepalive(self.reported)], self.queue[most:]
        records = self.rig.feed(taken)
        # Every topic is a separate partition with separate acknowledgements.
        for record in records:
            value: Any = json.loads(record.value or b"null")
            number = value["after"]["id"] if "after" in value else int(base64.b64decode(value["message"]["content"]))
            self.batches[self.ledger.open_batch()] = {number}
        if self.rig.stream.position is not None:
            self.mark(self.rig.stream.position)

    @rule()
    def chunk_is_sent(self) -> None:
        """An incremental snapshot continues. The position does not change."""
        self.state += 1
        if self.rig.stream.position is not None:
            self.mark(self.rig.stream.position)

    @rule()
    def status(self) -> None:
        position = self.rig.stream.idle_position()
        if position is not None and self.ledger.idle:
            self.mark(position)

    def mark(self, position: Position) -> None:
        incremental = (("incremental_snapshot_state", self.state),) if self.state else ()
        self.ledger.mark(self.frontier.mark(replace(position, incremental=incremental)))

    @precondition(lambda self: self.batches)
    @rule(which=st.integers(0, 9), everything=st.booleans())
    def acknowledge(self, which: int, everything: bool) -> None:
        for batch in list(self.batches) if everything else [list(self.batches)[which % len(self.batches)]]:
            self.delivered |= self.batches.pop(batch)
            self.ledger.acknowledge(batch)

    @rule(outcome=st.sampled_from(["stored", "stored", "stored", "stored", "refused", "lost answer"]), confirmed=st.booleans())
    def store(self, outcome: str, confirmed: bool) -> None:
        """Kafka stores the offset, or does not, or does without an answer. The last two end the task, which starts again."""
        mark = self.frontier.due(self.ledger.reached)
        if mark is None:
            return
        if outcome != "refused":
            offset = mark.position.to_offset()
            assert self.stored is None or StoredOffset.parse(offset).start >= StoredOffset.parse(self.stored).start, "the offset went back"
            self.stored = offset
            self.history.append(offset)
        if outcome == "stored":
            self.frontier.stored(mark)
        else:
            self.start()
        if confirmed:
            self.confirm()

    @rule()
    def confirm(self) -> None:
        self.slot = max(self.slot, self.frontier.confirmed)

    @rule()
    def kill(self) -> None:
        self.start()

    @precondition(lambda self: self.history)
    @rule(which=st.integers(0, 20))
    def operator_sets_the_offset_back(self, which: int) -> None:
        """To one that the slot still serves; others are refused at start or, by default, the slot goes before."""
        former = self.history[which % len(self.history)]
        if StoredOffset.parse(former).start >= self.slot:
            self.stored = former
            self.start()

    @invariant()
    def the_slot_is_never_ahead_of_the_offset(self) -> None:
        if self.stored is not None:
            assert StoredOffset.parse(self.stored).start >= self.slot

    def teardown(self) -> None:
        """After one more kill, all that was committed and is not in Kafka yet comes."""
        self.start()
        self.decode(0)
        while self.queue:
            self.receive(8, 0)
        self.acknowledge(0, everything=True)
        assert self.delivered == self.wal.committed


Runs.TestCase.settings = settings(deadline=None, max_examples=6 * settings().max_examples // 10, stateful_step_count=40)
TestRuns = Runs.TestCase
