"""Every scenario produces the same events with our worker as in the recording of the real Debezium."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.recording import Recording, difference
from tests.support.scenario import Place, Scenario, play
from workers.quickstart.embedded.registry import EmbeddedRegistry

FOLDER = Path(__file__).parent
AT_ONCE = 5
"""More wait for the worker's process, which has one core."""
SCENARIOS = [Scenario.load(file) for file in sorted((FOLDER / "scenarios").glob("*.yaml"))]


def marked(scenario: Scenario) -> object:
    return pytest.param(scenario, id=scenario.name, marks=[pytest.mark.pg(scenario.pg)] if scenario.pg else [])


def test_every_scenario_is_recorded() -> None:
    recorded = {file.stem for file in (FOLDER / "recordings").glob("*.json")}
    assert recorded == {scenario.name for scenario in SCENARIOS}
    assert len(recorded) > 20


def test_transforms_and_converters_are_recorded_with_their_options() -> None:
    recorded = sum(len(scenario.variants) or any("transform" in key for key in scenario.config) for scenario in SCENARIOS)
    assert recorded >= 150


def test_scenarios_side_by_side_share_no_topic() -> None:
    fixed = [scenario.fixed_prefix for scenario in SCENARIOS if scenario.fixed_prefix]
    assert len(fixed) == len(set(fixed))


class Plays:
    """Plays what the run asks for, several scenarios side by side on one worker: they wait more than they work."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.registry = ""
        """The address of a schema registry, if one runs. Scenarios that need one wait for it."""
        self._room = asyncio.Semaphore(AT_ONCE)
        self._begun: dict[tuple[str, int], asyncio.Task[str]] = {}

    async def check(self, request: pytest.FixtureRequest, pg: PgServer) -> None:
        """Wait for the test's own scenario; the first test on a server begins those of all tests on it."""
        own = request.node.callspec.params
        for item in request.session.items:
            params: dict[str, Any] = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
            scenario: Scenario | None = params.get("scenario")
            if scenario is None or (scenario.registry and not self.registry):
                continue
            if item.parent is request.node.parent and params["pg"] == own["pg"]:
                place = scenario.name, pg.port
                if place not in self._begun:
                    self._begun[place] = asyncio.create_task(self._play(scenario, pg), name=scenario.name)
        differs = await self._begun[own["scenario"].name, pg.port]
        assert not differs, f"{own['scenario'].name} ({own['scenario'].about})\n{differs}"

    async def end(self) -> None:
        """End those that no test has waited for."""
        for task in self._begun.values():
            task.cancel()
        await asyncio.gather(*self._begun.values(), return_exceptions=True)

    async def _play(self, scenario: Scenario, pg: PgServer) -> str:
        async with self._room:
            database = pg.database("parity")
            place = Place(
                self._worker.url, self._worker.bootstrap, database.host, database.port, database.user, database.name, self.registry
            )
            recorded = Recording.read(FOLDER / "recordings" / f"{scenario.name}.json")
            return difference(recorded, await play(scenario, place, f"px{uuid.uuid4().hex[:12]}", recorded))


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def plays(shared_worker: Worker) -> AsyncIterator[Plays]:
    begun = Plays(shared_worker)
    yield begun
    await begun.end()


@pytest.mark.parametrize("scenario", [marked(scenario) for scenario in SCENARIOS if not scenario.once and not scenario.registry])
async def test_parity(scenario: Scenario, pg: PgServer, plays: Plays, request: pytest.FixtureRequest) -> None:
    await plays.check(request, pg)


@pytest.mark.pg_once
@pytest.mark.parametrize("scenario", [marked(scenario) for scenario in SCENARIOS if scenario.once and not scenario.registry])
async def test_parity_once(scenario: Scenario, pg: PgServer, plays: Plays, request: pytest.FixtureRequest) -> None:
    await plays.check(request, pg)


@pytest.mark.pg_once
@pytest.mark.parametrize("scenario", [marked(scenario) for scenario in SCENARIOS if scenario.registry])
async def test_parity_with_a_registry(
    scenario: Scenario, pg: PgServer, plays: Plays, schema_registry: EmbeddedRegistry, request: pytest.FixtureRequest
) -> None:
    plays.registry = schema_registry.url
    await plays.check(request, pg)
