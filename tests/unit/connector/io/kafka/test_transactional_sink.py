"""What a transactional producer's refusals become: which of them may pass, and what each asks of whom."""

from __future__ import annotations

import asyncio
import random
import time

import pytest
from aiokafka.errors import (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    KafkaError,
    MessageSizeTooLargeError,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
)

from connector.delivery.kafka_settings import KafkaSettings
from connector.delivery.kafka_transaction import Step
from connector.delivery.offsets import Position
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sink import sink_error
from connector.io.kafka.topic_creation import TopicCreator
from connector.io.kafka.transactional_sink import TransactionalSink
from connector.record.batch import NO_HEADERS
from tests.support.fake_kafka import FakeKafka


def sink(timeout_ms: int = 60_000) -> TransactionalSink:
    kafka = {"bootstrap.servers": "nowhere:1", "transaction.timeout.ms": str(timeout_ms)}
    return TransactionalSink(KafkaSettings(kafka, kafka), TopicCreator(kafka, {}, lambda _topic: None), "g-c-0", None)


def begun(one: TransactionalSink, seconds_ago: float) -> TransactionalSink:
    one._life.step(Step.BEGIN, time.monotonic() - seconds_ago)
    return one


@pytest.mark.parametrize("error", [ProducerFenced(), InvalidProducerEpoch()])
def test_another_producer_took_over(error: KafkaError) -> None:
    one = begun(sink(), 1)
    problem = one._problem(error)
    assert problem.kind is ErrorKind.SINK_FENCED
    assert "g-c-0" in problem.message
    assert not one._life.abortable, "there is nothing of ours left to abort"


def test_a_refused_batch_reports_it_too() -> None:
    refused = CdcError(ErrorKind.SINK_UNREACHABLE, "x")
    refused.__cause__ = ProducerFenced()
    assert begun(sink(), 1)._problem(refused).kind is ErrorKind.SINK_FENCED


def test_a_transaction_that_was_too_old_was_ended_by_the_broker() -> None:
    problem = begun(sink(timeout_ms=5_000), 6)._problem(ProducerFenced())
    assert (problem.kind, problem.passes) == (ErrorKind.SINK_UNREACHABLE, True)
    assert "5000 ms" in problem.message


@pytest.mark.parametrize("cause", [InvalidProducerIdMapping(), InvalidTxnState(), None])
def test_a_producer_that_the_broker_forgot_may_be_replaced(cause: KafkaError | None) -> None:
    error = KafkaError("Unexpected error during batch delivery")
    error.__cause__ = cause
    assert begun(sink(), 1)._problem(error).kind is ErrorKind.SINK_UNREACHABLE


def test_other_refusals_stay_what_they_are() -> None:
    one = begun(sink(), 1)
    assert one._problem(sink_error(MessageSizeTooLargeError(), "topic t")).kind is ErrorKind.SINK_RECORD_TOO_LARGE
    assert one._life.abortable, "readers of committed records would wait for it"


def test_an_id_that_may_not_be_used_is_named() -> None:
    problem = sink_error(TransactionalIdAuthorizationFailed("g-c-0"), "Kafka")
    assert problem.kind is ErrorKind.SINK_PERMISSION
    assert "transactional id g-c-0" in problem.message
    assert "TransactionalId" in problem.remedy


@pytest.mark.parametrize("heartbeat_first", [True, False])
async def test_changes_wait_for_their_offset_in_a_topic_that_has_heartbeats_too(*, heartbeat_first: bool) -> None:
    kafka = FakeKafka()
    settings = KafkaSettings({"bootstrap.servers": "nowhere:1"}, {})
    one = TransactionalSink(settings, TopicCreator({}, {}, lambda _topic: None), "g-c-0", None, connect=kafka.producer)
    one.frontier.begin(0)
    await one.start()
    one.bind(to_marks=True)

    def put(value: bytes, *, apart: bool = False) -> None:
        one.out("t", apart=apart).append(b"k", b"", value, NO_HEADERS, 0)

    try:
        async with asyncio.timeout(10):
            if heartbeat_first:
                put(b"beat", apart=True)
                await one.drained()
                assert [record[2] for record in kafka.topics["t"]] == [b"beat"]
            put(b"change")
            await one.drained()
            assert b"change" not in [record[2] for record in kafka.topics.get("t", [])]
            put(b"late beat", apart=True)
            one.send(Position(1, 1))
            await one.drained()
            assert [record[2] for record in kafka.topics["t"]][-2:] == [b"change", b"late beat"]
    finally:
        await one.stop()


async def test_a_topic_that_kafka_does_not_let_in_ends_the_transaction() -> None:
    kafka = FakeKafka(deaf={"gone"})
    settings = KafkaSettings({"bootstrap.servers": "nowhere:1", "transaction.timeout.ms": "50"}, {})
    one = TransactionalSink(settings, TopicCreator({}, {}, lambda _topic: None), "g-c-0", None, connect=kafka.producer)
    one.frontier.begin(0)
    before = asyncio.all_tasks()
    await one.start()
    try:
        async with asyncio.timeout(10):
            for topic in ("here", "gone"):
                one.out(topic).append(b"k", b"", b"v", NO_HEADERS, 0)
            one.send(Position(1, 1))
            with pytest.raises(CdcError, match="Kafka did not take the records of gone within 50 ms") as reported:
                await one.drained()
        assert (reported.value.kind, reported.value.passes) == (ErrorKind.SINK_UNREACHABLE, True)
        assert (kafka.topics, one.reached) == ({}, None)
    finally:
        await one.stop()
    assert asyncio.all_tasks() == before


async def test_a_refusal_is_reported_even_if_kafka_does_not_answer_for_another_topic() -> None:
    kafka = FakeKafka(deaf={"gone"}, limit=100)
    settings = KafkaSettings({"bootstrap.servers": "nowhere:1", "transaction.timeout.ms": "50"}, {})
    one = TransactionalSink(settings, TopicCreator({}, {}, lambda _topic: None), "g-c-0", None, connect=kafka.producer)
    one.frontier.begin(0)
    await one.start()
    try:
        async with asyncio.timeout(10):
            one.out("gone").append(b"k", b"", b"v", NO_HEADERS, 0)
            one.out("here").append(b"k", b"", random.Random(1).randbytes(200), NO_HEADERS, 0)
            one.send(Position(1, 1))
            with pytest.raises(CdcError, match="A record for topic here is larger than Kafka takes"):
                await one.drained()
    finally:
        await one.stop()
