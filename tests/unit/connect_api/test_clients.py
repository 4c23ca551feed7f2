"""What real clients of Kafka Connect call and read, as found in their code; each test names the client that breaks."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from tests.support.fake_herder import CLASS, FakeHerder, rest

STATES = {"UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"}


def fleet() -> FakeHerder:
    herder = FakeHerder()
    herder.add("running").topics.append("running.public.a")
    herder.add("failed", trace="The slot is gone. Drop the offset or recreate the slot.")
    herder.add("paused", target="PAUSED")
    herder.add("stopped", target="STOPPED")
    return herder


async def test_kcctl() -> None:
    async with rest(fleet()) as http:
        version = (await http.get("/")).json()["version"]
        assert tuple(int(part) for part in version.split(".")) >= (3, 0)  # restart with tasks is offered from 3.0
        listed = (await http.get("/connectors/?expand=status&expand=info")).json()
        failed = listed["failed"]["status"]["tasks"][0]
        assert failed["trace"]  # dereferenced whenever a task is FAILED
        topics = (await http.get("/connectors/running/topics")).json()
        assert next(iter(topics.values())) == {"topics": ["running.public.a"]}
        restarted = (await http.post("/connectors/running/restart?includeTasks=true&onlyFailed=false")).json()
        states = [restarted["connector"]["state"], *(task["state"] for task in restarted["tasks"])]
        assert states.count("RESTARTING") == 2
        assert set((await http.get("/connectors/running/offsets")).json()) == {"offsets"}
        created = await http.post("/connectors/", json={"name": "new", "config": {"connector.class": CLASS}}, follow_redirects=False)
        assert created.status_code == 201


async def test_kcctl_patches_configurations_moves_offsets_and_sets_levels() -> None:
    herder = fleet()
    async with rest(herder) as http:
        changed = await http.patch("/connectors/running/config", json={"tasks.max": "1"})
        assert changed.json()["config"]["tasks.max"] == "1"
        moved = await http.patch("/connectors/stopped/offsets", json={"offsets": [{"partition": {"server": "s"}, "offset": None}]})
        assert set(moved.json()) == {"message"}  # printed as it is
        loggers = (await http.get("/admin/loggers/")).json()
        assert all(set(logger) == {"level", "last_modified"} for logger in loggers.values())
        assert isinstance((await http.put("/admin/loggers/connector", json={"level": "DEBUG"})).json(), list)


async def test_kafka_ui_deletes_offsets_and_redpanda_console_resets_topics() -> None:
    async with rest(fleet()) as http:
        assert (await http.delete("/connectors/stopped/offsets")).status_code == 200
        reset = await http.put("/connectors/running/topics/reset")
        assert (reset.status_code, reset.content) == (202, b"")


async def test_strimzi_operator() -> None:
    herder = FakeHerder()
    wanted = {"connector.class": CLASS, "tasks.max": "1", "database.password": "${file:/opt/secret:password}", "_x.unknown": "kept"}
    async with rest(herder) as http:
        assert (await http.get("/connectors/c/config")).status_code == 404  # means: create it
        created = await http.post("/connectors", json={"name": "c", "config": wanted, "initial_state": "STOPPED"})
        assert created.status_code == 201
        # Any other map would make it write the configuration, and so restart the connector, at every reconciliation.
        assert (await http.get("/connectors/c/config")).json() == {**wanted, "name": "c"}
        assert (await http.get("/connectors/c/status")).json()["connector"]["state"] == "STOPPED"
        assert (await http.put("/connectors/c/resume")).status_code == 202
        assert (await http.put("/connectors/c/pause")).status_code == 202
        assert (await http.put("/connectors/c/stop")).status_code == 204
        assert (await http.post("/connectors/c/restart?includeTasks=false&onlyFailed=false")).status_code == 204
        both = await http.post("/connectors/c/restart?includeTasks=true&onlyFailed=true")
        assert (both.status_code, type(both.json())) == (202, dict)
        assert (await http.delete("/connectors/c")).status_code == 204
        gone = await http.get("/connectors/c/status")
        assert (gone.status_code, set(gone.json())) == (404, {"error_code", "message"})
        assert (await http.get("/health")).status_code == 200


async def test_terraform_provider() -> None:
    async with rest(FakeHerder()) as http:
        sent: dict[str, Any] = {"connector.class": CLASS, "tasks.max": 1, "snapshot.fetch.size": 2000, "tombstones.on.delete": False}
        await http.put("/connectors/c/config", json=sent)
        kept = (await http.get("/connectors/c/config")).json()
        # It polls for two minutes until key count and texts agree, name included.
        expected = {"connector.class": CLASS, "tasks.max": "1", "snapshot.fetch.size": "2000", "tombstones.on.delete": "false", "name": "c"}
        assert kept == expected
        status = (await http.get("/connectors/c/status")).json()
        assert all(isinstance(value, str) for value in status["connector"].values())  # decoded as a map of strings
        await http.delete("/connectors/c")
        assert (await http.get("/connectors/c")).status_code == 404


async def test_akhq_joins_tasks_of_info_and_status() -> None:
    async with rest(fleet()) as http:
        listed = (await http.get("/connectors?expand=info&expand=status")).json()
    for both in listed.values():
        assert [task["task"] for task in both["info"]["tasks"]] == [task["id"] for task in both["status"]["tasks"]]
        assert both["info"]["config"]["connector.class"] == CLASS


async def test_kafka_ui_knows_these_words_only() -> None:
    async with rest(fleet()) as http:
        listed = (await http.get("/connectors?expand=info&expand=status")).json()
        for both in listed.values():
            assert both["status"]["connector"]["state"] in STATES
            assert all(task["state"] in STATES - {"STOPPED"} for task in both["status"]["tasks"])
            assert both["info"]["type"] in {"source", "sink", "unknown"}
        for plugin in (await http.get("/connector-plugins")).json():
            assert plugin["type"] in {"source", "sink"}  # AKHQ asks to validate whatever is listed
        refused = await http.post("/connectors", json={"name": "running", "config": {"connector.class": CLASS}})
        assert (refused.status_code, refused.json()["error_code"]) == (409, 409)


async def test_redpanda_console() -> None:
    async with rest(fleet()) as http:
        assert (await http.get("/")).status_code == 200
        listed = (await http.get("/connectors?expand=status&expand=info")).json()
        for both in listed.values():
            assert all(isinstance(value, str) for value in both["info"]["config"].values())
            if both["status"]["connector"]["state"] == "RUNNING":
                assert both["status"]["tasks"]  # a running connector without tasks is shown as unhealthy
        restarted = await http.post("/connectors/running/restart?includeTasks=false&onlyFailed=false")
        assert (restarted.status_code, restarted.content) == (204, b"")
        missing = await http.get("/connectors/none")
        assert missing.json()["error_code"] != 0


async def test_kafka_connect_py_writes_python_s_booleans_and_no_content_type() -> None:
    herder = fleet()
    async with rest(herder) as http:
        assert (await http.post("/connectors/running/restart?includeTasks=True&onlyFailed=False")).status_code == 202
        assert (await http.post("/connectors/running/restart?includeTasks=False&onlyFailed=False")).status_code == 204
    assert herder.calls == [("restart", "running", True, False), ("restart", "running", False, False)]


async def test_exporters_and_health_checks() -> None:
    async with rest(fleet()) as http:
        for name in (await http.get("/connectors")).json():
            status = (await http.get(f"/connectors/{name}/status")).json()
            assert status["connector"]["worker_id"]
            assert all(type(task["id"]) is int and task["worker_id"] for task in status["tasks"])


async def test_landoop_s_ui_reads_the_task_id_inside_an_id() -> None:
    async with rest(fleet()) as http:
        tasks = (await http.get("/connectors/running/tasks")).json()
    assert tasks[0]["id"]["task"] == 0


async def test_many_clients_at_once() -> None:
    async with rest(fleet()) as http:
        replies = await asyncio.gather(*(http.get(f"/connectors/{name}/status") for name in ("running", "failed", "paused") * 20))
    assert {reply.status_code for reply in replies} == {200}
    assert all(re.match(r'\{"name":"(running|failed|paused)","connector":\{"state":', reply.text) for reply in replies)
