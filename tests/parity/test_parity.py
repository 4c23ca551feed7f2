"""Every scenario, played against our worker, brings what the real Debezium brought when it was recorded."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from fix_pg import PgServer
from fix_worker import Worker
from support.recording import Recording, difference
from support.scenario import Place, Scenario, play

FOLDER = Path(__file__).parent
SCENARIOS = [Scenario.load(file) for file in sorted((FOLDER / "scenarios").glob("*.yaml"))]


def marked(scenario: Scenario) -> object:
    return pytest.param(scenario, id=scenario.name, marks=[pytest.mark.pg(scenario.pg)] if scenario.pg else [])


def test_every_scenario_is_recorded() -> None:
    recorded = {file.stem for file in (FOLDER / "recordings").glob("*.json")}
    assert recorded == {scenario.name for scenario in SCENARIOS}
    assert len(recorded) > 20


@pytest.mark.parametrize("scenario", [marked(scenario) for scenario in SCENARIOS if not scenario.once])
async def test_parity(scenario: Scenario, pg: PgServer, shared_worker: Worker) -> None:
    await check(scenario, pg, shared_worker)


@pytest.mark.pg_once
@pytest.mark.parametrize("scenario", [marked(scenario) for scenario in SCENARIOS if scenario.once])
async def test_parity_once(scenario: Scenario, pg: PgServer, shared_worker: Worker) -> None:
    await check(scenario, pg, shared_worker)


async def check(scenario: Scenario, pg: PgServer, shared_worker: Worker) -> None:
    database = pg.database("parity")
    place = Place(shared_worker.url, shared_worker.bootstrap, database.host, database.port, database.user, database.name)
    recorded = Recording.read(FOLDER / "recordings" / f"{scenario.name}.json")
    differs = difference(recorded, await play(scenario, place, f"px{uuid.uuid4().hex[:12]}", recorded))
    assert not differs, f"{scenario.name} ({scenario.about})\n{differs}"
