from __future__ import annotations

import itertools
from typing import get_args

import pytest

from connect_api.herder import ConnectorState
from tests.support.each_case import each_case
from workers.herder.states import TRANSITIONS, IllegalTransitionError, StateEvent, Subject, after

STATES: tuple[ConnectorState | None, ...] = (None, *get_args(ConnectorState))


@each_case("state", STATES)
@each_case(
    ("event", "expected"),
    [
        (StateEvent.START, "RUNNING"),
        (StateEvent.PAUSE, "PAUSED"),
        (StateEvent.STOP, "STOPPED"),
        (StateEvent.FAIL, "FAILED"),
    ],
)
def test_a_connector_changes_to_the_requested_state(state: ConnectorState | None, event: StateEvent, expected: ConnectorState) -> None:
    assert after(Subject.CONNECTOR, state, event) == expected


def test_a_stopped_task_has_no_state() -> None:
    assert after(Subject.TASK, "RUNNING", StateEvent.STOP) is None
    assert "STOPPED" not in {state for (subject, _, _), state in TRANSITIONS.items() if subject is Subject.TASK}
    assert "STOPPED" not in {before for (subject, before, _) in TRANSITIONS if subject is Subject.TASK}


@pytest.mark.parametrize(("subject", "event"), list(itertools.product(Subject, [StateEvent.RESTART, StateEvent.RELEASE])))
def test_a_task_that_never_ran_cannot_restart_or_be_released(subject: Subject, event: StateEvent) -> None:
    with pytest.raises(IllegalTransitionError):
        after(subject, None, event)


def test_every_state_can_be_left_and_reached() -> None:
    for subject in Subject:
        own = [s for s in STATES if not (subject is Subject.TASK and s == "STOPPED")]
        # What is known of a deleted connector goes without a step.
        reached = [s for s in own if s is not None or subject is Subject.TASK]
        assert {state for (who, _, _), state in TRANSITIONS.items() if who is subject} == set(reached)
        assert {before for (who, before, _) in TRANSITIONS if who is subject} == set(own)
