"""What the client in Python reads of a real broker's partitions, and what it does if it cannot."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import pytest
import pytest_asyncio

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from tests.fix_secured_kafka import SECURITY, USERS, SecuredKafka
from tests.support.project import TLS
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.place import free_port
from workers.spark.topics import range_reader
from workers.spark.topics.python_client import client_settings
from workers.spark.topics.range_reader import Place, RangeReader, Ranges, Records


class Reader:
    """A reader, and what it has given."""

    def __init__(self, bootstrap: str, options: Mapping[str, str] | None = None) -> None:
        settings = client_settings(bootstrap, options or {})
        assert settings is not None
        self.reader = RangeReader(settings)
        self.taken: list[tuple[Place, Sequence[bytes | None]]] = []

    def take(self, place: Place, records: Records) -> None:
        self.taken.append((place, [one.value for one in records]))

    def read(self, ranges: Ranges) -> dict[Place, list[bytes | None]]:
        self.taken = []
        self.reader.read(ranges, self.take)
        found: dict[Place, list[bytes | None]] = {}
        for place, values in self.taken:
            assert values
            found.setdefault(place, []).extend(values)
        return found


@pytest.fixture
def reader(kafka_bootstrap: str) -> Iterator[Reader]:
    found = Reader(kafka_bootstrap)
    yield found
    found.reader.close()


@pytest_asyncio.fixture(loop_scope="session")
async def topic(kafka_bootstrap: str) -> AsyncIterator[str]:
    """A topic of two partitions with ten records each: ``0`` to ``9``, and ``10`` to ``19``."""
    name = f"ranges-{uuid.uuid4().hex}"
    await create(kafka_bootstrap, name)
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap) as producer:
        for number in range(20):
            await producer.send_and_wait(name, str(number).encode(), partition=number // 10)
    yield name


async def create(bootstrap: str, name: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, num_partitions=2, replication_factor=1)])
    await admin.close()


def numbers(first: int, end: int) -> list[bytes]:
    return [str(number).encode() for number in range(first, end)]


@pytest.mark.asyncio(loop_scope="session")
async def test_ranges_are_read_exactly(reader: Reader, topic: str) -> None:
    assert reader.read({(topic, 0): (3, 7), (topic, 1): (0, 10)}) == {(topic, 0): numbers(3, 7), (topic, 1): numbers(10, 20)}
    # Earlier ones again, as after a crash, and one partition alone.
    assert reader.read({(topic, 0): (0, 1)}) == {(topic, 0): numbers(0, 1)}
    assert reader.read({(topic, 1): (9, 10)}) == {(topic, 1): numbers(19, 20)}
    reader.reader.close()
    assert reader.read({(topic, 0): (7, 8)}) == {(topic, 0): numbers(7, 8)}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
async def test_compressed_records_are_read(codec: str, kafka_bootstrap: str, reader: Reader, topic: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, compression_type=codec, linger_ms=50) as producer:
        sent = [await producer.send(topic, value, partition=0) for value in numbers(100, 200)]
        for one in sent:
            await one
    # A range may begin and end within a compressed batch.
    assert reader.read({(topic, 0): (15, 105)}) == {(topic, 0): numbers(105, 195)}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("at_once", [1, 3])
async def test_few_records_are_in_memory_at_once(reader: Reader, topic: str, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(range_reader, "_AT_ONCE", at_once)
    assert reader.read({(topic, 0): (1, 8), (topic, 1): (None, 10)}) == {(topic, 0): numbers(1, 8), (topic, 1): numbers(10, 20)}
    assert max(len(values) for _, values in reader.taken) == at_once


@pytest.mark.asyncio(loop_scope="session")
async def test_aborted_records_are_left_out(kafka_bootstrap: str, reader: Reader, topic: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, transactional_id=uuid.uuid4().hex) as producer:
        async with producer.transaction():
            await producer.send_and_wait(topic, b"committed", partition=0)
        for _ in range(2):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, b"aborted", partition=0)
            await producer.abort_transaction()
    # A record and a marker, three times.
    assert reader.read({(topic, 0): (9, 16)}) == {(topic, 0): [b"9", b"committed"]}
    assert reader.read({(topic, 0): (12, 16), (topic, 1): (8, 9)}) == {(topic, 1): [b"18"]}
    assert reader.read({(topic, 0): (15, 16)}) == {}
    every = Reader(kafka_bootstrap, {"kafka.isolation.level": "read_uncommitted"})
    assert every.read({(topic, 0): (12, 16)}) == {(topic, 0): [b"aborted", b"aborted"]}
    every.reader.close()


@pytest.mark.asyncio(loop_scope="session")
async def test_removed_records_are_missed(kafka_bootstrap: str, reader: Reader, topic: str) -> None:
    assert reader.read({(topic, 0): (None, 2)}) == {(topic, 0): numbers(0, 2)}
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=2)})
    await admin.close()
    for begin in (0, 1, None):
        with pytest.raises(OffsetOutOfRangeError):
            reader.read({(topic, 1): (None, 1), (topic, 0): (begin, 5)})
    assert reader.read({(topic, 0): (2, 3)}) == {(topic, 0): numbers(2, 3)}


@pytest.mark.asyncio(loop_scope="session")
async def test_who_takes_records_may_end_the_reading(reader: Reader, topic: str) -> None:
    def refuse(place: Place, _: Records) -> None:
        raise LookupError(place)

    with pytest.raises(LookupError):
        reader.reader.read({(topic, 0): (0, 5)}, refuse)
    assert reader.read({(topic, 0): (0, 1)}) == {(topic, 0): numbers(0, 1)}


def test_a_broker_that_is_not_there() -> None:
    reader = Reader(f"127.0.0.1:{free_port()}")
    with pytest.raises(KafkaError):
        reader.read({("t", 0): (0, 1)})
    reader.reader.close()


@pytest.mark.asyncio(loop_scope="session")
async def test_a_broker_that_ends_and_comes_back(kafka: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_reader, "WAIT_SECONDS", 2.0)
    await create(kafka.bootstrap, "t")
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        await producer.send_and_wait("t", b"0", partition=0)
    reader = Reader(kafka.bootstrap)
    assert reader.read({("t", 0): (0, 1)}) == {("t", 0): [b"0"]}
    kafka.halt()
    with pytest.raises((KafkaError, TimeoutError)):
        reader.read({("t", 0): (0, 1)})
    kafka.resume()
    monkeypatch.setattr(range_reader, "WAIT_SECONDS", 20.0)
    assert reader.read({("t", 0): (0, 1)}) == {("t", 0): [b"0"]}
    reader.reader.close()


LOGIN = f'{SECURITY}{{}}LoginModule required username="alice" password="{USERS["alice"]}";'
PLAIN = {"kafka.sasl.mechanism": "PLAIN", "kafka.sasl.jaas.config": LOGIN.format("plain.Plain")}
SCRAM = {"kafka.sasl.mechanism": "SCRAM-SHA-512", "kafka.sasl.jaas.config": LOGIN.format("scram.Scram")}
TRUST = {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": str(TLS / "authority.pem")}
KEY = {"kafka.ssl.keystore.type": "PEM", "kafka.ssl.keystore.location": str(TLS / "client.pem")}
WAYS = {
    "login": {"kafka.security.protocol": "SASL_PLAINTEXT", **PLAIN},
    "login scram": {"kafka.security.protocol": "SASL_PLAINTEXT", **SCRAM},
    "login_tls": {"kafka.security.protocol": "SASL_SSL", **SCRAM, **TRUST},
    "mutual": {"kafka.security.protocol": "SSL", **TRUST, **KEY},
}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("way", WAYS)
async def test_it_connects_as_the_source_does(way: str, secured_kafka: SecuredKafka) -> None:
    name = f"ranges-{uuid.uuid4().hex}"
    await create(secured_kafka.plain, name)
    async with AIOKafkaProducer(bootstrap_servers=secured_kafka.plain) as producer:
        await producer.send_and_wait(name, b"0", partition=0)
    reader = Reader(getattr(secured_kafka, way.partition(" ")[0]), WAYS[way])
    assert reader.read({(name, 0): (0, 1)}) == {(name, 0): [b"0"]}
    reader.reader.close()


def test_a_wrong_password_is_an_error(secured_kafka: SecuredKafka) -> None:
    wrong = {**WAYS["login"], "kafka.sasl.jaas.config": LOGIN.format("plain.Plain").replace(USERS["alice"], "wrong")}
    reader = Reader(secured_kafka.login, wrong)
    with pytest.raises(KafkaError):
        reader.read({("t", 0): (0, 1)})
    reader.reader.close()
