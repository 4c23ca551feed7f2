"""Every call of the REST interface, the odd ones too, is answered as Kafka Connect 4.3.0 with Debezium 3.6.3.Final answered it."""

from __future__ import annotations

import json

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.rest_replay import ANSWERS, SETUP, Place, differences, play, requests

pytestmark = pytest.mark.pg_once


def test_the_recording_belongs_to_the_requests() -> None:
    recorded = json.loads(ANSWERS.read_text(encoding="utf-8"))
    reported = {section: [answer["call"] for answer in answers] for section, answers in recorded.items()}
    assert reported == {section: [call["call"] for call in calls] for section, calls in requests().items()}


def test_every_call_is_answered_as_the_reference_answers(pg: PgServer, shared_worker: Worker) -> None:
    database = pg.database("replay")
    database.execute(*SETUP)
    place = Place(shared_worker.url, database.host, database.port, database.user, database.name)
    recorded = [answer for answers in json.loads(ANSWERS.read_text(encoding="utf-8")).values() for answer in answers]
    wrong = []
    for (call, answer), expected in zip(play(place), recorded, strict=True):
        wrong += [f"{json.dumps(call, ensure_ascii=False)}\n    {line}" for line in differences(call, answer, expected)]
    assert wrong == [], "\n".join(wrong)
