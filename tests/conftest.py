"""Fixtures by resource: each starts its server when the first test asks for it, and never before."""

from __future__ import annotations

import importlib.util

import pytest

# The Spark session's fixture comes with the package that it tests.
_RESOURCES = ("fix_pg", "fix_kafka", "fix_secured_kafka", "fix_worker", "fix_spark", "fix_clients", "fix_connect")
pytest_plugins = [name for name in _RESOURCES if importlib.util.find_spec(name) is not None]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", 'pg(">= 14"): runs on PostgreSQL servers of these versions only')
    config.addinivalue_line("markers", "pg_has(name): runs on servers that have this extension or output plugin only")
    config.addinivalue_line("markers", "pg_once: runs on one of the servers that fit, not on each")
    config.addinivalue_line("markers", "slow: takes more than five seconds")
