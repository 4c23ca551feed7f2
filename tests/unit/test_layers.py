"""The dependency rules of ``pyproject.toml``, checked with the tests, and shown to be able to fail."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import configuration
from importlinter.application.user_options import UserOptions
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.contract import Contract

from tests.support.each_case import each_case
from tests.support.project import ROOT

OPTIONS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
CONTRACTS: dict[str, dict[str, Any]] = {options["name"]: options for options in OPTIONS["contracts"]}
KINDS: dict[str, type[Contract]] = {"forbidden": ForbiddenContract, "layers": LayersContract, "protected": ProtectedContract}


configuration.configure()


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*OPTIONS["root_packages"], include_external_packages=True, cache_dir=None)


def kept(name: str, graph: grimp.ImportGraph) -> bool:
    options = CONTRACTS[name]
    session = UserOptions(session_options=OPTIONS, contracts_options=[]).session_options
    # Its reader of TOML makes texts of booleans.
    given = {key: str(value) if isinstance(value, bool) else value for key, value in options.items() if key not in ("name", "type")}
    contract = KINDS[options["type"]](name, session, given)
    return contract.check(graph, verbose=False).kept


def test_all_rules_are_kept() -> None:
    # In a separate process, because the linter's command line disables the loggers of its process.
    linted = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert linted.returncode == 0, linted.stdout


BREACHES = [
    ("The connector knows neither the worker nor the REST dialect", "connector.io.kafka.sink", "workers.herder.herder"),
    ("The connector knows neither the worker nor the REST dialect", "connector.events.stream", "connect_api.errors"),
    ("Of the connector only io and runner talk to PostgreSQL and Kafka", "connector.types.array", "psycopg"),
    ("Of the connector only io and runner talk to PostgreSQL and Kafka", "connector.events.stream", "aiokafka"),
    ("Of the connector only io and runner talk to PostgreSQL and Kafka", "connect_api.app", "aiokafka"),
    ("The connector's core waits for nothing, reads no clock and writes no log", "connector.events.stream", "time"),
    ("The connector's core waits for nothing, reads no clock and writes no log", "connector.configdef.key", "asyncio"),
    ("The connector's core waits for nothing, reads no clock and writes no log", "connector.events.capture", "logging"),
    ("HTTP is the REST dialect's and the worker's", "connector.io.postgres.server", "fastapi"),
    ("The connector's core does not know its edges", "connector.events.encoders", "connector.io.kafka.compression"),
    ("The connector's core and its edges do not know the runner", "connector.io.kafka.sink", "connector.runner.task"),
    ("The connector's core and its edges do not know the runner", "connector.events.stream", "connector.runner"),
    ("The REST dialect never imports the worker", "connect_api.app", "workers.herder.herder"),
    ("Of the connector the REST dialect knows the properties and the errors", "connect_api.routes.plugins", "connector.events.stream"),
    ("The Spark jobs read topics and know nothing of who writes them", "workers.spark.topics.events", "connector.events.envelope"),
    ("The Spark jobs read topics and know nothing of who writes them", "workers.spark.source.relation", "connect_api.errors"),
    ("The Spark jobs read topics and know nothing of who writes them", "workers.spark.source.relation", "workers.settings.worker_settings"),
    ("The rooms of the connector import only rooms below them", "connector.types.array", "connector.config.keys"),
    ("The rooms of the connector import only rooms below them", "connector.events.stream", "connector.incremental.window"),
    ("The rooms of the connector import only rooms below them", "connector.wire.pgoutput", "connector.events.stream"),
    ("The rooms of the worker import only rooms below them", "workers.stores.config_store", "workers.herder.herder"),
    ("The rooms of the worker import only rooms below them", "workers.settings.worker_settings", "workers.telemetry.logging"),
    ("The worker does not import what only the repository has", "workers.quickstart.demo.__main__", "workers.lab.bench.orders"),
    ("The rooms of the Spark jobs know those below them only", "workers.spark.topics.events", "workers.spark.effects.moves"),
]


@each_case(("name", "importer", "imported"), BREACHES)
def test_a_breach_is_found(name: str, importer: str, imported: str, graph: grimp.ImportGraph) -> None:
    assert {importer, imported} <= graph.modules
    assert kept(name, graph)
    graph.add_import(importer=importer, imported=imported)
    try:
        assert not kept(name, graph)
    finally:
        graph.remove_import(importer=importer, imported=imported)


@pytest.mark.parametrize(
    "imported", ["connector.errors", "connector.config.keys", "connector.config.keys.postgres", "connector.config.validation"]
)
def test_what_the_rest_dialect_may_know(imported: str, graph: grimp.ImportGraph) -> None:
    name = "Of the connector the REST dialect knows the properties and the errors"
    graph.add_import(importer="connect_api.routes.plugins", imported=imported)
    try:
        assert kept(name, graph)
    finally:
        graph.remove_import(importer="connect_api.routes.plugins", imported=imported)


def test_every_rule_is_shown_to_fail() -> None:
    assert {name for name, _, _ in BREACHES} == set(CONTRACTS)


def test_no_module_is_named_after_nothing(graph: grimp.ImportGraph) -> None:
    words = {"utils", "util", "common", "helpers", "helper", "manager"}
    ours = [module for module in graph.modules if not graph.is_module_squashed(module)]
    assert len(ours) > 100
    assert [module for module in ours if words & set(module.split("."))] == []
