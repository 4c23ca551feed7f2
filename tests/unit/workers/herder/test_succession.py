"""One connector after another of the same name, or on another worker: whose states count, and where it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack

import pytest

from connect_api.herder import Elsewhere, HerderError
from connector.config.validation import Validation
from connector.errors import CdcError, ErrorKind
from tests.support.herder_bench import CONFIG, Bench, LateLog
from tests.support.herder_cluster import Cluster
from workers.group.assignment import Assignment
from workers.stores.topic_log import Entry


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as stack:
        yield Cluster(stack)


class SlowEnd:
    """The worker's tasks end when the test allows it."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        supervisor = bench.herder._reconciler._supervisor
        self.begun, self.allowed = asyncio.Event(), asyncio.Event()
        stop = supervisor.stop

        async def late(name: str, *, paused: bool = False) -> None:
            self.begun.set()
            await self.allowed.wait()
            await stop(name, paused=paused)

        monkeypatch.setattr(supervisor, "stop", late)


async def create(cluster: Cluster, name: str) -> None:
    await cluster.workers[0].herder.put_connector(name, {**CONFIG, "name": name}, allow_replace=False)


async def test_a_connector_created_again_waits_for_the_end_of_the_former(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = await cluster.add(), await cluster.add()
    await cluster.create("c0", "c1")
    # The first worker has less from here on.
    await first.herder.delete_connector("c0")
    await cluster.settled()
    slow = SlowEnd(second, monkeypatch)
    await first.herder.delete_connector("c1")
    await slow.begun.wait()
    await create(cluster, "c1")
    for _ in range(10):
        await asyncio.sleep(0)
    assert cluster.running() == [[], ["c1"]]
    assert len(second.contexts) == 1
    slow.allowed.set()
    await cluster.settled()
    assert cluster.running() == [[], ["c1"]]
    assert len(second.contexts) == 2
    for bench in cluster.workers:
        assert bench.states("c1") == ("RUNNING", ["RUNNING"])
    assert [state for key, state in first.reported() if key == "status-task-c1-0"] == ["RUNNING", "", "RUNNING"]


async def test_a_removed_worker_does_not_delete_the_states_of_the_next_connector(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = await cluster.add(), await cluster.add()
    await cluster.create("c0", "c1")
    slow = SlowEnd(second, monkeypatch)
    await first.herder.delete_connector("c1")
    await slow.begun.wait()
    cluster.group.lose(cluster.memberships[1])
    await create(cluster, "c1")
    # It is the one that moves when the second worker is back.
    await create(cluster, "c2")
    await first.settled()
    cluster.group.find_again(cluster.memberships[1])
    await first.settled()
    slow.allowed.set()
    await cluster.settled()
    assert cluster.running() == [["c0", "c1"], ["c2"]]
    assert first.states("c1") == ("RUNNING", ["RUNNING"])


async def test_the_last_connector_that_must_move_is_deleted(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.create("c0", "c1")
    member, here, there = cluster.memberships[0].member, "127.0.0.1:1", "127.0.0.1:2"
    assert member is not None
    generation = cluster.group.generation
    offset = len(cluster.topics.config.entries) - 1
    member.assigned(Assignment(here, {here: "", there: ""}, offset, {"c0": here}, {"c1": here}), generation)
    cluster.topics.config.append([Entry(b"connector-c1", None)])
    await cluster.settled()
    assert first.running.keys() == {"c0"}
    assert cluster.group.generation == generation + 1


async def test_a_removed_worker_s_failed_task_does_not_replace_the_new_owner_s_state(cluster: Cluster) -> None:
    first, second = await cluster.add(), await cluster.add()
    await cluster.create("c0", "c1")
    cluster.group.lose(cluster.memberships[1])
    await cluster.settled()
    await second.fail(CdcError(ErrorKind.CONFIG_INVALID, "The slot is in use", "Wait."), "c1")
    state = first.herder.task_status("c1", 0)
    assert (state.state, state.worker_id) == ("RUNNING", "127.0.0.1:1")


async def test_a_removed_worker_s_end_does_not_replace_the_new_owner_s_states(cluster: Cluster) -> None:
    first, second = await cluster.add(), await cluster.add()
    await cluster.create("c0", "c1")
    cluster.group.lose(cluster.memberships[1])
    await cluster.settled()
    await second.herder.stop()
    assert first.states("c1") == ("RUNNING", ["RUNNING"])


async def test_a_failure_of_the_owner_replaces_what_another_worker_wrote(cluster: Cluster) -> None:
    first, second = await cluster.add(), await cluster.add()
    await cluster.create("c0", "c1")
    cluster.group.lose(cluster.memberships[1])
    await cluster.settled()
    await first.fail(CdcError(ErrorKind.CONFIG_INVALID, "The slot is in use", "Wait."), "c1")
    assert second.states("c1") == ("RUNNING", ["FAILED"])


async def test_a_leader_that_was_replaced_during_the_validation_does_not_write(cluster: Cluster) -> None:
    first, second = await cluster.add(), await cluster.add()
    await cluster.create("c0")
    validating, validated = asyncio.Event(), asyncio.Event()

    async def validate(name: str, config: Mapping[str, str | None]) -> Validation:
        validating.set()
        await validated.wait()
        return await first.validate(name, config)

    first.herder._submitted._validate = validate
    calls = [
        first.herder.put_connector("c1", {**CONFIG, "name": "c1", "slot.name": "first"}, allow_replace=True),
        first.herder.patch_connector("c0", {"slot.name": "first"}),
    ]
    begun = [asyncio.create_task(call) for call in calls]
    await validating.wait()
    cluster.group.lose(cluster.memberships[0])
    cluster.group.find_again(cluster.memberships[0])
    await cluster.settled()
    await second.herder.put_connector("c1", {**CONFIG, "name": "c1", "slot.name": "second"}, allow_replace=False)
    validated.set()
    for place in await asyncio.gather(*begun, return_exceptions=True):
        assert isinstance(place, Elsewhere)
        assert place.url == "http://127.0.0.1:2"
    assert second.herder.connector_info("c1").config["slot.name"] == "second"
    assert "slot.name" not in second.herder.connector_info("c0").config


async def test_a_new_leader_has_read_what_the_former_one_wrote(cluster: Cluster) -> None:
    first, second = await cluster.add(), await cluster.add(LateLog)
    await create(cluster, "c0")
    assert list(second.herder.connectors()) == []
    await first.herder.stop()
    cluster.workers.remove(first)
    await cluster.settled()
    with pytest.raises(HerderError, match="Connector c0 already exists"):
        await second.herder.put_connector("c0", {**CONFIG, "name": "c0"}, allow_replace=False)


async def test_a_request_to_restart_that_a_removed_worker_reads_late_leaves_no_wrong_states(cluster: Cluster) -> None:
    first, second, late = await cluster.add(), await cluster.add(), await cluster.add(LateLog)
    await cluster.create("c0", "c1", "c2")
    await late.herder.caught_up()
    await cluster.settled()
    assert cluster.running() == [["c0"], ["c1"], ["c2"]]
    cluster.group.lose(cluster.memberships[2])
    await first.settled()
    await second.herder.restart_connector("c2", include_tasks=True, only_failed=False)
    # The assignment makes the late worker read as far as this, and thereby the request.
    await create(cluster, "c3")
    await first.settled()
    cluster.group.find_again(cluster.memberships[2])
    await cluster.settled()
    await late.herder.caught_up()
    await cluster.settled()
    assert "c2" in first.running
    status = first.herder.connector_status("c2")
    assert [(each.state, each.worker_id) for each in (status.connector, status.tasks[0])] == [("RUNNING", "127.0.0.1:1")] * 2


async def test_the_owner_replaces_the_states_that_a_removed_worker_wrote(cluster: Cluster) -> None:
    first, second, removed = await cluster.add(), await cluster.add(), await cluster.add()
    names = [f"c{n}" for n in range(6)]
    await cluster.create(*names)
    cluster.group.lose(cluster.memberships[2])
    await cluster.settled()
    # The removed worker restarts its connector too.
    await second.herder.restart_connector("c2", include_tasks=True, only_failed=False)
    await cluster.settled()
    assert first.herder.task_status("c2", 0).worker_id == "127.0.0.1:3"
    cluster.group.find_again(cluster.memberships[2])
    await cluster.settled()
    assert "c2" in first.running
    assert "c2" not in removed.running
    status = first.herder.connector_status("c2")
    assert [(each.state, each.worker_id) for each in (status.connector, status.tasks[0])] == [("RUNNING", "127.0.0.1:1")] * 2
