from __future__ import annotations

from itertools import product

import pytest

from connector.delivery.kafka_transaction import TRANSITIONS, Phase, Step, TransactionLife
from tests.support.each_case import each_case

WAY = {
    Phase.IDLE: (),
    Phase.OPEN: (Step.BEGIN,),
    Phase.ENDING: (Step.BEGIN, Step.COMMIT),
    Phase.OVER: (Step.FAIL,),
}


def life_in(phase: Phase) -> TransactionLife:
    life = TransactionLife(60.0)
    for step in WAY[phase]:
        life.step(step, 100.0)
    assert life.phase is phase
    return life


@each_case(("phase", "step"), list(product(Phase, Step)))
def test_every_step_in_every_phase(phase: Phase, step: Step) -> None:
    life = life_in(phase)
    following = TRANSITIONS[phase].get(step)
    if following is None:
        with pytest.raises(RuntimeError, match=f"{step.name} may not come in phase {phase.name}"):
            life.step(step, 101.0)
        assert life.phase is phase
    else:
        life.step(step, 101.0)
        assert life.phase is following


def test_a_producer_that_failed_begins_nothing_more() -> None:
    assert set(TRANSITIONS[Phase.OVER]) == {Step.FAIL}
    assert all(Step.FAIL in steps for steps in TRANSITIONS.values())


def test_only_an_open_transaction_can_be_aborted() -> None:
    assert [life_in(phase).abortable for phase in (Phase.IDLE, Phase.OPEN, Phase.ENDING)] == [False, True, False]
    failed = life_in(Phase.OPEN)
    failed.step(Step.FAIL, 101.0)
    assert failed.abortable
    asked = life_in(Phase.ENDING)
    asked.step(Step.FAIL, 101.0)
    assert not asked.abortable


def test_the_broker_ends_what_is_older_than_its_limit() -> None:
    life = life_in(Phase.OPEN)
    assert not life.outlived(159.9)
    assert life.outlived(160.0)
