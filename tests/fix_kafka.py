"""Kafka for tests: one broker for the whole session, or the one that ``UNDERSTUDY_TEST_BOOTSTRAP`` names."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from workers.quickstart.embedded.kafka import EmbeddedKafka

BOOTSTRAP = os.environ.get("UNDERSTUDY_TEST_BOOTSTRAP")


@pytest.fixture(scope="session")
def kafka_bootstrap() -> Iterator[str]:
    """The address of a running broker. Topics outlive a test: take names of your own."""
    if BOOTSTRAP:
        yield BOOTSTRAP
        return
    with EmbeddedKafka() as kafka:
        yield kafka.bootstrap


@pytest.fixture
def kafka() -> Iterator[EmbeddedKafka]:
    """A broker of the test's own, to halt and resume."""
    with EmbeddedKafka() as broker:
        yield broker
