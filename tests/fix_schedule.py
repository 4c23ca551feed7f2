"""Which process runs which test file, and in which order, when tests run in several processes (pytest-xdist).

Files stay whole, so that a file's fixtures start once. The files that take longest begin first: one of them at the end would keep a single
process busy while the others wait. All files that use a Spark session share two processes: a session costs a JVM of its own, and its first
minute is its slowest. The files that use the schema registry share one process, since that is a JVM too.
"""

from __future__ import annotations

from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

FIRST: Final = (
    "tests/spark/test_sinks.py",
    "tests/spark/test_live.py",
    "tests/parity/test_parity.py",
    "tests/spark/test_mirror_workload.py",
    "tests/spark/test_yarn.py",
    "tests/spark/test_standalone.py",
    "tests/spark/test_kubernetes.py",
    "tests/integration/workers/test_demo.py",
    "tests/spark/test_prepare.py",
    "tests/spark/test_snapshots_live.py",
    "tests/spark/test_keys_live.py",
    "tests/spark/test_transactions_live.py",
    "tests/integration/bulk/test_bulk_snapshot.py",
    "tests/spark/test_small_delta.py",
    "tests/spark/test_partitions.py",
    "tests/integration/workers/test_takeover.py",
    "tests/faults/test_incremental_kill.py",
    "tests/integration/workers/test_kafka_security.py",
    "tests/integration/connector/test_parallel_snapshot.py",
    "tests/integration/connector/test_incremental_handover.py",
    "tests/integration/connector/test_output_plugins.py",
    "tests/integration/tutorials/test_unwrap.py",
    "tests/faults/test_exactly_once_kill.py",
    "tests/integration/connector/test_releases.py",
    "tests/faults/test_kill.py",
    "tests/integration/workers/test_many_workers.py",
)
"""Longest first, as `make test` and `make test-long` print them."""
SESSIONS: Final = (
    frozenset(
        {
            "changes",
            "command",
            "history",
            "isolation",
            "types",
            "live",
            "maintenance",
            "merge",
            "mirror",
            "missing",
            "protobuf",
            "rebuild",
            "rules",
            "transactions",
            "verify",
            "verify_live",
        }
    ),
    frozenset(
        {
            "avro",
            "converters",
            "delta",
            "delta_readers",
            "deletion_vectors",
            "keys",
            "types_pg",
            "messages",
            "postgres",
            "sinks",
            "topics_live",
            "verify_command",
        }
    ),
)
"""The files of tests/spark that share a process."""
REGISTRY: Final = frozenset(
    {
        "tests/integration/connector/test_registry.py",
        "tests/integration/connector/test_registry_outage.py",
        "tests/integration/tutorials/test_avro.py",
        "tests/integration/workers/test_embedded_registry.py",
        "tests/parity/test_parity.py",
        "tests/spark/test_registry_live.py",
    }
)
"""The files that share the process with the schema registry."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long files first, in the same order in every process."""
    places = {path: place for place, path in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(_scope(item.nodeid), places.get(_file(item.nodeid), len(FIRST))))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Answer for ``--dist loadfile`` alone."""
    return _ByServers(config, log) if config.getvalue("dist") == "loadfile" else None


class _ByServers(LoadFileScheduling):  # type: ignore[misc]  # the base class has no types
    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        # The order is that of the collection, not that of the counts of tests.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _scope(nodeid: str) -> str:
    """The file, or the first file of its group."""
    path = _file(nodeid)
    if path in REGISTRY:
        return "tests/integration/connector/test_registry.py"
    folder, _, name = path.rpartition("/test_")
    if folder == "tests/spark":
        for number, names in enumerate(SESSIONS):
            if name.removesuffix(".py") in names:
                return ("tests/spark/test_live.py", "tests/spark/test_sinks.py")[number]
    return path
