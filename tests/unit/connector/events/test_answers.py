"""What ``Stream.feed`` answers, in which state, and what happens to a caller that does not bring what the answer asks for."""

from __future__ import annotations

import pytest

from connector.errors import CdcError
from connector.events.relation import join_relation
from connector.events.stream import LiveTable, Stream
from connector.events.transitions import ANSWERS, Answer, AtCommit, NeedRelation, NeedReread, Signal, SignalRow, State, Used
from connector.types.codec import Column
from connector.wire.pgoutput import Relation
from tests.support import wal_script
from tests.support.stream_rig import INT4, NOW_NS, TEXT, RecordingOut, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import WalScript

SIGNALS = catalog_table("sig", Column("id", TEXT, not_null=True), Column("type", TEXT), Column("data", TEXT), oid=5100, primary_key=["id"])
ITEM = catalog_table("item", Column("id", INT4, not_null=True), Column("note", TEXT), oid=5200, primary_key=["id"])
R_SIGNALS, R_ITEM = relation_of(SIGNALS), relation_of(ITEM)
RESELECT = {
    "post_processors": "r",
    "r_type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
}


class Machine:
    """A stream in a state; ``adopt`` brings what the catalog says, and makes ``sig`` the signal table."""

    def __init__(self) -> None:
        self.rig = StreamRig(ITEM, SIGNALS, config=configured(**RESELECT))
        self.wal = WalScript()

    @property
    def stream(self) -> Stream:
        return self.rig.stream

    def adopt(self, relation: Relation) -> None:
        capture = self.rig.capture
        table = join_relation(relation, self.rig.catalog[relation.schema, relation.table])
        encoder = capture.encoder(table)
        out = RecordingOut(encoder.topic, self.rig.sent.setdefault(encoder.topic, []))
        reselections = capture.reselections(table, encoder)
        live = LiveTable(encoder, capture.source(table), out, signals=relation == R_SIGNALS, reselections=reselections)
        self.stream.adopt(relation, live)

    def describe(self, *relations: Relation) -> None:
        """Let the machine know tables; a transaction is open then."""
        self.wal.begin()
        for relation in relations:
            self.wal.relation(relation)
            assert isinstance(self.feed(), NeedRelation)
            self.adopt(relation)

    def feed(self) -> Answer:
        return self.stream.feed(self.wal.take(), NOW_NS)

    def state(self) -> State:
        return State.BETWEEN if self.stream.between else State.INSIDE


def answered(kind: type[Answer], state: State) -> tuple[Machine, Answer]:
    """A machine that has just answered in this way in this state, with one frame left after the one that stopped it."""
    one = Machine()
    wal = one.wal
    if kind is NeedRelation and state is State.BETWEEN:
        wal.relation(R_ITEM)
        wal.keepalive()
    elif kind is Used and state is State.BETWEEN:
        wal.keepalive()
    elif kind is NeedRelation:
        wal.begin()
        wal.relation(R_ITEM)
        wal.insert(R_ITEM, "1", "a")
    elif kind is AtCommit:
        one.describe(R_ITEM)
        one.stream.halt_at_commit = True
        wal.commit()
        wal.keepalive()
    else:
        one.describe(R_ITEM, R_SIGNALS)
        if kind is Signal:
            wal.insert(R_SIGNALS, "s", "log", "{}")
        elif kind is NeedReread:
            wal.insert(R_ITEM, "1", None)
        wal.insert(R_ITEM, "2", "b")
    return one, one.feed()


CASES = [(kind, state) for kind, rule in ANSWERS.items() for state in rule.states]


@pytest.mark.parametrize(("kind", "state"), CASES)
def test_every_answer_of_the_table_is_given_in_its_states(kind: type[Answer], state: State) -> None:
    one, answer = answered(kind, state)
    assert (type(answer), one.state()) == (kind, state)
    assert answer.used >= 1


def test_the_table_holds_every_answer() -> None:
    assert set(ANSWERS) == set(Answer.__args__)


@pytest.mark.parametrize(("kind", "state"), CASES)
def test_the_next_burst_needs_what_the_answer_asks_for_and_nothing_else(kind: type[Answer], state: State) -> None:
    one, answer = answered(kind, state)
    position, events = one.stream.position, one.stream.events
    call = ANSWERS[kind].call
    if call is None:
        assert isinstance(one.stream.feed([], NOW_NS), Used)
        return
    with pytest.raises(RuntimeError, match=rf"Stream\.feed\(\) was called before {call}\(\)"):
        one.stream.feed([wal_script.keepalive(one.wal.lsn)], NOW_NS)
    assert (one.stream.position, one.stream.events) == (position, events), "a call in the wrong order changes nothing"
    if isinstance(answer, NeedRelation):
        one.adopt(answer.relation)
    else:
        assert one.stream.complete([b"again"] if isinstance(answer, NeedReread) else None) is None
    assert isinstance(one.stream.feed([], NOW_NS), Used)


def test_only_the_table_that_was_asked_for_may_be_brought() -> None:
    one, _ = answered(NeedRelation, State.INSIDE)
    with pytest.raises(RuntimeError, match=r"before adopt\(\) for table public\.item"):
        one.adopt(R_SIGNALS)


def test_no_table_may_be_brought_while_a_row_is_awaited() -> None:
    one, _ = answered(NeedReread, State.INSIDE)
    with pytest.raises(RuntimeError, match=r"before complete\(\) for a row of table public\.item"):
        one.adopt(R_ITEM)


@pytest.mark.parametrize("kind", [Used, NeedRelation, Signal])
def test_an_unrequested_row_is_refused(kind: type[Answer]) -> None:
    one, _ = answered(kind, State.INSIDE)
    with pytest.raises(RuntimeError, match=r"Stream\.complete\(\) was called"):
        one.stream.complete([b"again"])


def test_a_known_table_may_be_brought_again_between_two_bursts() -> None:
    one, _ = answered(Used, State.INSIDE)
    one.adopt(R_ITEM)
    one.wal.insert(R_ITEM, "3", "c")
    assert one.feed() == Used(1, False)


def test_nothing_is_fed_after_a_failure() -> None:
    one, _ = answered(Used, State.INSIDE)
    one.wal.begin()
    with pytest.raises(CdcError):
        one.feed()
    with pytest.raises(RuntimeError, match="after a failure"):
        one.stream.feed([], NOW_NS)


def test_the_server_s_question_is_answered_with_the_burst_that_brought_it() -> None:
    one = Machine()
    frames = [wal_script.keepalive(100, reply=True), wal_script.xlog_data(100, wal_script.relation(R_ITEM)), wal_script.keepalive(100)]
    answer = one.stream.feed(frames, NOW_NS)
    assert answer == NeedRelation(2, True, R_ITEM)
    one.adopt(R_ITEM)
    assert one.stream.feed(frames[answer.used :], NOW_NS) == Used(1, False)


def test_a_signal_whose_row_is_read_again_is_obeyed_after_its_record() -> None:
    one = Machine()
    one.describe(R_ITEM, R_SIGNALS)
    one.wal.insert(R_SIGNALS, "s", "log", None)
    one.wal.insert(R_ITEM, "1", "a")
    frames = one.wal.take()
    answer = one.stream.feed(frames, NOW_NS)
    assert isinstance(answer, NeedReread)
    assert one.stream.complete([b"{}"]) is None
    left = frames[answer.used :]
    # The signal says what the stream brought, its record what was read again.
    assert one.stream.feed(left, NOW_NS) == Signal(0, False, SignalRow(False, (b"s", b"log", None)))
    assert [sent.payload["after"]["data"] for sent in one.rig.sent["srv.public.sig"]] == ["{}"]
    assert one.rig.sent["srv.public.item"] == []
    assert one.stream.feed(left, NOW_NS) == Used(1, False)
    assert len(one.rig.sent["srv.public.item"]) == 1
