from __future__ import annotations

import itertools
from typing import get_args

import pytest

from connect_api.herder import ConnectorState
from workers.states import TRANSITIONS, Event, IllegalTransitionError, Subject, after

STATES: tuple[ConnectorState | None, ...] = (None, *get_args(ConnectorState))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("event", "expected"),
    [(Event.START, "RUNNING"), (Event.PAUSE, "PAUSED"), (Event.STOP, "STOPPED"), (Event.FAIL, "FAILED"), (Event.DELETE, None)],
)
def test_a_connector_goes_where_it_is_told(state: ConnectorState | None, event: Event, expected: ConnectorState | None) -> None:
    assert after(Subject.CONNECTOR, state, event) == expected


def test_a_stopped_task_has_no_state() -> None:
    assert after(Subject.TASK, "RUNNING", Event.STOP) is None
    assert "STOPPED" not in {state for (subject, _, _), state in TRANSITIONS.items() if subject is Subject.TASK}
    assert "STOPPED" not in {before for (subject, before, _) in TRANSITIONS if subject is Subject.TASK}


@pytest.mark.parametrize(("subject", "event"), list(itertools.product(Subject, [Event.RESTART, Event.RELEASE])))
def test_what_never_ran_cannot_restart_or_be_released(subject: Subject, event: Event) -> None:
    with pytest.raises(IllegalTransitionError):
        after(subject, None, event)


def test_every_state_can_be_left_and_reached() -> None:
    for subject in Subject:
        own = [s for s in STATES if not (subject is Subject.TASK and s == "STOPPED")]
        assert {state for (who, _, _), state in TRANSITIONS.items() if who is subject} == set(own)
        assert {before for (who, before, _) in TRANSITIONS if who is subject} == set(own)
