import json
from dataclasses import asdict
from typing import cast
from unittest.mock import Mock

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.sql import SparkSession

from workers.spark.failure import JobError
from workers.spark.jobs.checkpoint import Checkpoint, State, _state

STATE = State(replacing=("shop.public.orders",), rebuilding=("shop.public.lines",), applied=7, lacking="transaction 5 has …", lacking_ms=9)


def test_a_document_is_read_as_it_was_written() -> None:
    assert _state(json.loads(json.dumps(asdict(STATE)))) == STATE


def test_an_older_document_names_the_topics_to_replace_differently() -> None:
    document = json.loads(json.dumps(asdict(STATE)))
    document["anew"] = document.pop("replacing")
    assert _state(document) == STATE


def test_the_oldest_documents_have_no_topics_to_replace() -> None:
    document = json.loads(json.dumps(asdict(State())))
    for name in ("replacing", "rebuilding", "applied_ms", "reached", "lacking", "lacking_ms"):
        del document[name]
    assert _state(document) == State()


def test_document_that_does_not_get_its_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    system = Mock()
    system.rename.return_value = False
    checkpoint = Checkpoint(cast(SparkSession, None), "/c")
    monkeypatch.setattr(checkpoint, "_system", lambda path: (system, path))
    with pytest.raises(JobError, match=r"/c/understudy/new\.json\.new could not be renamed"):
        checkpoint.note_new(1, {})
