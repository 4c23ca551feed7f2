"""Fixtures by resource: each starts its server when the first test asks for it, and never before."""

from __future__ import annotations

import importlib.util

import pytest

# The Spark session's fixture comes with the package that it tests.
_RESOURCES = (
    "tests.fix_garbage",
    "tests.fix_generated",
    "tests.fix_scratch",
    "tests.fix_targets",
    "tests.fix_schedule",
    "tests.fix_pg",
    "tests.fix_kafka",
    "tests.fix_secured_kafka",
    "tests.fix_registry",
    "tests.fix_worker",
    "tests.fix_spark",
    "tests.fix_clients",
    "tests.fix_connect",
)
pytest_plugins = [name for name in _RESOURCES if importlib.util.find_spec(name) is not None]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", 'pg(">= 14"): runs on PostgreSQL servers of these versions only')
    config.addinivalue_line("markers", "pg_has(name): runs on servers that have this extension or output plugin only")
    config.addinivalue_line("markers", "pg_once: runs on one of the servers that fit, not on each")
    config.addinivalue_line("markers", "server: starts PostgreSQL, Kafka, a worker or a JVM; `make test-fast` leaves it out")
    config.addinivalue_line("markers", "long: `make test-long` runs it; `make test` proves the same in short, or on one PostgreSQL")
