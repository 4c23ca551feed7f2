"""Several herders that share their topics and a group, without Kafka: who runs what, and who answers what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import pairwise

import orjson
import pytest

from connect_api.herder import Elsewhere, Health, HerderError, Offset, SignalRequest
from connector.errors import CdcError, ErrorKind
from tests.support.herder_bench import CONFIG, Group, GroupMembership, LateLog, worker
from tests.support.herder_cluster import Cluster
from workers.group.assignment import Assignment, Claim, Owners
from workers.group.membership import GroupMember
from workers.stores.topic_log import Entry

NAMES = [f"c{n}" for n in range(6)]


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as stack:
        yield Cluster(stack)


async def test_created_connectors_are_spread_at_once_and_in_one_generation(cluster: Cluster) -> None:
    for _ in range(3):
        await cluster.add()
    generation = cluster.group.generation
    await cluster.create(*NAMES)
    assert cluster.running() == [["c0", "c3"], ["c1", "c4"], ["c2", "c5"]]
    assert cluster.group.generation == generation
    for bench in cluster.workers:
        states = {name: bench.herder.connector_status(name).tasks[0] for name in NAMES}
        assert {state.state for state in states.values()} == {"RUNNING"}
        assert states["c1"].worker_id == "127.0.0.1:2"


async def test_a_worker_that_comes_takes_its_share_and_the_rest_runs_on(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.create(*NAMES)
    contexts, reported_before = list(first.contexts), len(first.reported())
    generation = cluster.group.generation
    await cluster.add()
    assert cluster.running() == [["c0", "c1", "c2"], ["c3", "c4", "c5"]]
    assert first.contexts == contexts
    # One generation for the worker that came, and one when all three that move had ended.
    assert cluster.group.generation == generation + 2
    # Connectors that did not move have no new status.
    assert {key.split("-")[2] for key, _ in first.reported()[reported_before:]} == {"c3", "c4", "c5"}
    [last] = [entry.value for entry in cluster.topics.status.entries if entry.key == b"status-task-c3-0"][-1:]
    assert b'"generation":%d,' % cluster.group.generation in (last or b"")
    # The former worker wrote the states of moved connectors before the next one began.
    reported = [state for key, state in first.reported() if key == "status-task-c4-0"]
    assert reported == ["RUNNING", "UNASSIGNED", "RUNNING"]


async def test_never_do_two_run_one(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.create(*NAMES)
    await cluster.add()
    started: dict[str, list[str]] = {name: [] for name in NAMES}
    for key, state in first.reported():
        if key.startswith("status-task-"):
            started[key.split("-")[2]].append(state)
    for states in started.values():
        assert ("RUNNING", "RUNNING") not in pairwise(states)


async def test_a_lost_worker_s_connectors_run_elsewhere(cluster: Cluster) -> None:
    for _ in range(3):
        await cluster.add()
    await cluster.create(*NAMES)
    cluster.group.lose(cluster.memberships[1])
    await cluster.settled()
    assert sorted([*cluster.running()[0], *cluster.running()[2]]) == NAMES
    # It still runs its former connectors, because it does not know of the change. Other workers have them now.
    assert cluster.running()[1] == ["c1", "c4"]
    cluster.group.find_again(cluster.memberships[1])
    await cluster.settled()
    names = [name for running in cluster.running() for name in running]
    assert sorted(names) == NAMES
    assert [len(running) for running in cluster.running()] == [2, 2, 2]


async def test_an_orderly_end_hands_over(cluster: Cluster) -> None:
    first = await cluster.add()
    second = await cluster.add()
    await cluster.create(*NAMES)
    await first.herder.stop()
    cluster.workers.remove(first)
    await cluster.settled()
    assert sorted(second.running) == NAMES
    assert second.herder.connector_status("c0").tasks[0].worker_id == "127.0.0.1:2"
    # It leads now.
    await second.herder.delete_connector("c0")
    await cluster.settled()
    assert sorted(second.running) == NAMES[1:]


async def test_a_change_affects_only_its_connector(cluster: Cluster) -> None:
    first = await cluster.add()
    second = await cluster.add()
    await cluster.create(*NAMES)
    before = [list(bench.contexts) for bench in cluster.workers]
    reported = len(first.reported())
    await first.herder.put_connector("c1", {**CONFIG, "name": "c1", "tasks.max": "1"}, allow_replace=True)
    await cluster.settled()
    assert first.contexts == before[0]
    assert [context.connector for context in second.contexts[len(before[1]) :]] == ["c1"]
    assert {key for key, _ in first.reported()[reported:]} <= {"status-task-c1-0", "status-connector-c1"}


async def test_a_deleted_connector_leaves_no_state(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.add()
    await cluster.create(*NAMES)
    await first.herder.delete_connector("c1")
    await cluster.settled()
    assert cluster.running()[1] == ["c3", "c5"]
    for bench in cluster.workers:
        with pytest.raises(HerderError, match="No status found for connector c1"):
            bench.herder.connector_status("c1")


async def test_a_connector_deleted_while_its_worker_was_down_is_forgotten(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.add()
    await cluster.create(*NAMES)
    membership = cluster.memberships[1]
    # It hears nothing any more.
    await cluster.workers.pop().config_log.stop()
    await first.herder.delete_connector("c1")
    await cluster.settled()
    assert b"status-connector-c1" not in {entry.key for entry in cluster.topics.status.entries if entry.value is None}
    cluster.group.lose(membership)
    await cluster.settled()
    assert {b"status-connector-c1", b"status-task-c1-0"} <= {entry.key for entry in cluster.topics.status.entries if entry.value is None}


async def test_only_the_leader_creates_changes_deletes_and_stops(cluster: Cluster) -> None:
    await cluster.add()
    second = await cluster.add()
    await cluster.create(*NAMES)
    herder = second.herder
    calls = [
        herder.put_connector("new", CONFIG, allow_replace=False),
        herder.put_connector("c1", CONFIG, allow_replace=True),
        herder.patch_connector("c1", {"tasks.max": "1"}),
        herder.delete_connector("c1"),
        herder.set_target_state("c1", "STOPPED"),
    ]
    for call in calls:
        with pytest.raises(Elsewhere) as caught:
            await call
        assert caught.value.url == "http://127.0.0.1:1"
    assert second.validated == []


async def test_any_worker_pauses_resumes_and_restarts(cluster: Cluster) -> None:
    first = await cluster.add()
    second = await cluster.add()
    await cluster.create(*NAMES)
    await second.herder.set_target_state("c0", "PAUSED")
    await cluster.settled()
    assert cluster.running()[0] == ["c2", "c4"]
    await second.herder.set_target_state("c0", "STARTED")
    await cluster.settled()
    await first.fail(CdcError(ErrorKind.SOURCE_QUERY, "it broke"), "c2")
    await cluster.settled()
    assert second.herder.task_status("c2", 0).state == "FAILED"
    status = await second.herder.restart_connector("c2", include_tasks=True, only_failed=True)
    assert status.tasks[0].state == "RESTARTING"
    await cluster.settled()
    assert cluster.running()[0] == ["c0", "c2", "c4"]
    assert second.herder.task_status("c2", 0).state == "RUNNING"


async def test_requests_that_need_the_task_are_sent_to_its_worker(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.add()
    await cluster.create(*NAMES)
    herder = first.herder
    for call in (
        lambda: herder.progress("c1"),
        lambda: herder.notifications("c1", 0),
        lambda: herder.clear_notifications("c1"),
    ):
        with pytest.raises(Elsewhere) as caught:
            call()
        assert caught.value.url == "http://127.0.0.1:2"
    signal = herder.signal("c1", SignalRequest(None, "log", "{}"))
    for later in (signal, herder.restart_task("c1", 0), herder.next_notifications("c1", 0, 1.0)):
        with pytest.raises(Elsewhere) as caught:
            await later
        assert caught.value.url == "http://127.0.0.1:2"
    assert herder.progress("c0")["phase"] is not None
    with pytest.raises(HerderError, match="Connector none not found"):
        herder.progress("none")


async def test_offsets_change_at_the_connector_s_worker(cluster: Cluster) -> None:
    first = await cluster.add()
    second = await cluster.add(LateLog)
    await cluster.create(*NAMES)
    await second.config_log.catch_up()
    await cluster.settled()
    assert cluster.running()[1] == ["c1", "c3", "c5"]
    await first.herder.set_target_state("c1", "STOPPED")
    changes = [Offset({"server": "shop"}, {"lsn": 1})]
    with pytest.raises(Elsewhere):
        await first.herder.alter_offsets("c1", changes)
    # It has not heard of the stop when it is asked.
    await second.herder.alter_offsets("c1", changes)
    assert [offset.offset for offset in await first.herder.offsets("c1")] == [{"lsn": 1}]


async def test_before_the_first_generation_nothing_is_begun_and_calls_wait(cluster: Cluster) -> None:
    await cluster.add()
    await cluster.create("c0")
    silent = Group()

    class Silent(GroupMembership):
        async def start(self, member: object) -> None:
            """No answer comes."""

    async with worker(cluster.topics, {"listeners": "http://127.0.0.1:9"}, Silent(silent)) as bench:
        assert bench.running == {}
        assert bench.herder.connector_status("c0").connector.worker_id == "127.0.0.1:1"
        for call in (bench.herder.delete_connector("c0"), bench.herder.restart_task("c0", 0)):
            with pytest.raises(Elsewhere) as caught:
                await call
            assert caught.value.url is None
        await bench.herder.next_assignment(0.0)
        assert bench.herder.health() == Health("starting", "Worker is still starting up. It waits for its group.")
        bench.herder._ownership.kept_out("Others use it.")
        assert bench.herder.health().message == "Worker is still starting up. It waits for its group. Others use it."
        # The contents of the topics are still served.
        assert list(bench.herder.connectors()) == ["c0"]


def stored(name: str) -> Entry:
    return Entry(f"connector-{name}".encode(), orjson.dumps({"properties": {**CONFIG, "name": name}}))


class Pending(GroupMembership):
    """Its first join waits at the broker, which holds the claim that the worker sent."""

    async def start(self, member: GroupMember) -> None:
        self.member = member
        member.joining()
        self.claim = member.claim()


async def test_a_worker_that_acted_alone_while_its_join_was_pending_hands_over_first(cluster: Cluster) -> None:
    cluster.topics.config.append([stored(name) for name in NAMES])
    pending = Pending(cluster.group)
    first = await cluster.enter(pending)
    leader = first.herder._ownership
    leader.alone()
    await cluster.settled()
    assert cluster.running() == [NAMES]
    second = await cluster.enter(Pending(cluster.group))
    other = second.herder._ownership
    # The broker completes both joins with the claims that it has.
    decision = leader.assign([pending.claim, other.claim()])
    assert decision.owners == dict.fromkeys(NAMES[:3], "127.0.0.1:1")
    assert decision.moving == dict.fromkeys(NAMES[3:], "127.0.0.1:1")
    cluster.group.members.extend(cluster.memberships)
    other.assigned(decision, 1)
    await second.settled()
    assert cluster.running() == [NAMES, []]
    leader.assigned(decision, 1)
    await cluster.settled()
    assert cluster.running() == [NAMES[:3], NAMES[3:]]


async def test_the_leader_starts_nothing_after_its_decision(cluster: Cluster) -> None:
    cluster.topics.config.append([stored(name) for name in NAMES])
    first = await cluster.enter(Pending(cluster.group))
    leader = first.herder._ownership
    decision = leader.assign([leader.claim(), Claim("127.0.0.1:2", "http://127.0.0.1:2")])
    # The answer of the broker that it is alone comes later than the join that it leads.
    leader.alone()
    await cluster.settled()
    assert cluster.running() == [[]]
    leader.assigned(decision, 1)
    await cluster.settled()
    assert cluster.running() == [[name for name in NAMES if decision.owners[name] == "127.0.0.1:1"]]


async def test_an_assignment_that_the_next_join_overtakes_starts_nothing(cluster: Cluster) -> None:
    first = await cluster.add()
    member = first.herder._ownership
    cluster.topics.config.append([stored("c0")])
    member.joining()
    await cluster.settled()
    member.assigned(member.assign([member.claim()]), 7)
    # The assignment has not taken effect, and the claim for the next one goes out.
    member.joining()
    claim = member.claim()
    await cluster.settled()
    assert claim.owned == ()
    assert cluster.running() == [[]]


async def test_an_old_assignment_after_a_start_places_nothing_new(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.create("c0")
    old = cluster.group.members[0].member.assign([first.herder._ownership.claim()])  # type: ignore[union-attr]
    await cluster.create("c1")

    class Stale(GroupMembership):
        """A static member that is given what its former process had."""

        async def start(self, member: object) -> None:
            self.member = member  # type: ignore[assignment]
            self.rejoins = 0
            self.member.assigned(old, 1)  # type: ignore[union-attr]

        def rejoin(self) -> None:
            self.rejoins += 1

    await first.herder.stop()
    cluster.workers.clear()
    stale = Stale(Group())
    async with worker(cluster.topics, {"listeners": "http://127.0.0.1:1"}, stale) as again:
        assert again.running == {}
        assert stale.rejoins == 1
        assert stale.member is not None
        stale.member.assigned(stale.member.assign([stale.member.claim()]), 2)
        await again.settled()
        assert sorted(again.running) == ["c0", "c1"]


async def test_a_task_s_offset_is_the_last_that_anybody_stored(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.create("c0")
    second = await cluster.add(LateLog)
    partition = {"server": "shop"}
    await first.running["c0"].offsets.store(partition, {"lsn": 7})
    await first.herder.stop()
    cluster.workers.remove(first)
    await second.config_log.catch_up()
    await cluster.settled()
    assert await second.running["c0"].offsets.load(partition) == {"lsn": 7}


async def test_an_assignment_counts_when_the_config_topic_is_read_as_far(cluster: Cluster) -> None:
    await cluster.add()
    second = await cluster.add(LateLog)
    await cluster.workers[0].herder.put_connector("c0", {**CONFIG, "name": "c0"}, allow_replace=False)
    await cluster.workers[0].herder.put_connector("c1", {**CONFIG, "name": "c1"}, allow_replace=False)
    await cluster.settled()
    assert cluster.running()[1] == []
    cluster.group.share()
    await cluster.settled()
    assert cluster.running() == [["c0"], ["c1"]]
    assert second.herder.connector_info("c1").name == "c1"


async def test_a_leader_that_has_read_less_than_a_member_reads_on_before_it_decides_again(cluster: Cluster) -> None:
    first = await cluster.add(LateLog)
    cluster.topics.config.append([stored("c0"), stored("c1")])
    assert list(first.herder.connectors()) == []
    generation = cluster.group.generation
    await cluster.add()
    assert cluster.running() == [["c0"], ["c1"]]
    # One for the worker that came, and one that it requested because the leader had not known the connectors.
    assert cluster.group.generation == generation + 2


async def test_a_leader_that_comes_back_with_what_it_had_read_before_decides_again(cluster: Cluster) -> None:
    first, second = await cluster.add(LateLog), await cluster.add()
    cluster.group.lose(cluster.memberships[0])
    await second.settled()
    for name in ("c0", "c1"):
        await second.herder.put_connector(name, {**CONFIG, "name": name}, allow_replace=False)
    await second.settled()
    # From here on the second worker no longer knows in which order they came.
    cluster.group.share()
    await second.settled()
    assert list(first.herder.connectors()) == []
    cluster.group.members.insert(0, cluster.memberships[0])
    cluster.group.share()
    await cluster.settled()
    assert first.herder._ownership.leads
    assert sorted(name for running in cluster.running() for name in running) == ["c0", "c1"]
    for bench in cluster.workers:
        assert [bench.states(name) for name in ("c0", "c1")] == [("RUNNING", ["RUNNING"])] * 2


async def test_between_generations_running_tasks_continue_and_none_start(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.create("c0")
    first.herder._ownership.joining()
    await cluster.create("c1")
    await first.herder.put_connector("c0", {**CONFIG, "name": "c0", "tasks.max": "1"}, allow_replace=True)
    await cluster.settled()
    assert cluster.running() == [["c0"]]
    assert first.running["c0"].config["tasks.max"] == "1"
    with pytest.raises(Elsewhere):
        first.herder.progress("c1")
    cluster.group.share()
    await cluster.settled()
    assert cluster.running() == [["c0", "c1"]]


async def test_a_worker_whose_former_process_ran_tasks_requests_the_next_generation(cluster: Cluster) -> None:
    first = await cluster.add()
    await cluster.create("c0")
    generation = cluster.group.generation
    member = cluster.group.members[0].member
    assert member is not None
    first.herder._ownership.held.clear()
    workers = {"127.0.0.1:1": "http://127.0.0.1:1"}
    member.assigned(Assignment("127.0.0.1:1", workers, 0, {}, {"c0": "127.0.0.1:1"}), generation)
    await cluster.settled()
    assert cluster.group.generation == generation + 1


async def test_a_worker_that_its_group_does_not_admit_any_more_is_unhealthy(cluster: Cluster) -> None:
    first = await cluster.add()
    member = cluster.memberships[0].member
    assert member is not None
    member.kept_out("Kafka refuses it: GroupAuthorizationFailedError.")
    refused = "The worker is outside of its group. Kafka refuses it: GroupAuthorizationFailedError."
    assert first.herder.health() == Health("unhealthy", refused)
    cluster.group.share()
    assert first.herder.health().status == "healthy"


async def test_each_creation_and_deletion_is_placed_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await cluster.add()
    await cluster.add()
    placed: list[int] = []
    change = Owners.change

    def counted(owners: Owners, offset: int, name: str, *, exists: bool) -> None:
        placed.append(offset)
        change(owners, offset, name, exists=exists)

    monkeypatch.setattr(Owners, "change", counted)
    for _ in range(3):
        await cluster.create("c0")
        await first.herder.delete_connector("c0")
        await cluster.settled()
    # Two workers place each of the six.
    assert len(placed) == 12
    cluster.group.share()
    await cluster.settled()
    await cluster.create(*NAMES)
    assert [len(running) for running in cluster.running()] == [3, 3]


async def test_the_revision_shows_any_change(cluster: Cluster) -> None:
    first = await cluster.add()
    second = await cluster.add()
    seen = [second.herder.revision()]
    await cluster.create("c0")
    seen.append(second.herder.revision())
    await first.herder.set_target_state("c0", "PAUSED")
    await cluster.settled()
    seen.append(second.herder.revision())
    assert len(set(map(repr, seen))) == len(seen)
    second.herder.connector_status("c0")
    assert second.herder.revision() == seen[-1]
