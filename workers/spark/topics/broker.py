"""Queries to Kafka about the topics that a job reads: whether Kafka answers, the topics' names, and the ranges of their records."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.java_items import items_of
from workers.spark.topics.patterns import matching

CONNECT_SECONDS: Final = 3.0
"""How long a broker may take to accept a connection."""
_CALL_MS: Final = 10_000
_SETTINGS: Final = {"request.timeout.ms": str(_CALL_MS), "default.api.timeout.ms": str(_CALL_MS)}
"""The limits of each call. The default of Kafka's clients is a minute."""

Offsets = Mapping[tuple[str, int], int]
"""(Topic, partition) → offset."""


def check_reachable(bootstrap: str) -> None:
    """Return when one of the ``bootstrap`` servers accepts a connection. Needs no Spark. Raises JobError(UNREADABLE) when none does."""
    refused = []
    for server in filter(None, (part.strip() for part in bootstrap.split(","))):
        # Kafka's clients accept a protocol before the host ("SSL://host:9093").
        host, _, port = server.rpartition("://")[2].rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except (OSError, ValueError, OverflowError) as error:
            refused.append(f"{server} ({getattr(error, 'strerror', None) or error})")
        else:
            return
    tried = ", ".join(refused) or "bootstrap is empty"
    raise JobError(UNREADABLE, f"Kafka cannot be reached: {tried}. Check bootstrap, and that a broker runs there.")


class Broker:
    """Queries the brokers at ``bootstrap``. ``options`` are those of Spark's Kafka source. Each call takes about ten seconds at most.

    All calls raise JobError(UNREADABLE) with Kafka's message when they fail.
    """

    def __init__(self, spark: SparkSession, bootstrap: str, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._options = options

    def topics(self, pattern: str) -> list[str]:
        """The topics whose whole names match ``pattern`` (Java's), without Kafka's internal ones, as Spark finds them."""
        with self._admin() as admin:
            names = sorted(items_of(admin.listTopics().names().get()))
        return matching(self._spark, pattern, names)

    def ends(self, topics: Collection[str]) -> Offsets:
        """The present end of each partition, for a reader of committed records."""
        return self._offsets(topics, "latest")

    def begins(self, topics: Collection[str]) -> Offsets:
        """The first offset that each partition still holds."""
        return self._offsets(topics, "earliest")

    def _offsets(self, topics: Collection[str], which: str) -> Offsets:
        kafka = self._kafka
        admin_package, place_class = kafka.clients.admin, kafka.common.TopicPartition
        wanted, offset = self._jvm.java.util.HashMap(), getattr(admin_package.OffsetSpec, which)()
        with self._admin() as admin:
            names = self._jvm.java.util.ArrayList()
            for topic in topics:
                names.add(topic)
            for entry in items_of(admin.describeTopics(names).allTopicNames().get().entrySet()):
                topic = entry.getKey()
                for part in items_of(entry.getValue().partitions()):
                    wanted.put(place_class(topic, part.partition()), offset)
            committed = admin_package.ListOffsetsOptions(kafka.common.IsolationLevel.READ_COMMITTED)
            found = items_of(admin.listOffsets(wanted, committed).all().get().entrySet())
        places = [(entry.getKey(), entry.getValue()) for entry in found]
        return {(place.topic(), int(place.partition())): int(info.offset()) for place, info in places}

    @property
    def _jvm(self) -> Any:
        return self._spark.sparkContext._jvm  # noqa: SLF001 - Kafka's own client, which Spark has loaded

    @property
    def _kafka(self) -> Any:
        return self._jvm.org.apache.kafka

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        own = {name.removeprefix("kafka."): value for name, value in self._options.items() if name.startswith("kafka.")}
        # A default for only one of the two could contradict the user's value of the other.
        base = {} if _SETTINGS.keys() & own.keys() else _SETTINGS
        settings = self._jvm.java.util.HashMap()
        for name, value in {**base, **own, "bootstrap.servers": self._bootstrap}.items():
            settings.put(name, value)
        try:
            admin = self._kafka.clients.admin.Admin.create(settings)
            try:
                yield admin
            finally:
                admin.close()
        except Py4JJavaError as error:
            raise JobError(UNREADABLE, f"Kafka at {self._bootstrap} does not answer: {_said(error)}. {_CHECK}") from None


_CHECK: Final = "Check bootstrap and the login in [kafka]."


def _said(error: Py4JJavaError) -> str:
    """The innermost message of Kafka's failure. It names brokers and settings, never records."""
    problem = error.java_exception
    while problem.getCause() is not None:
        problem = problem.getCause()
    return str(problem.getMessage() or problem.getClass().getSimpleName()).rstrip(".")
