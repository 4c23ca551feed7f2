"""Looks at slots: how often, which connectors share one, and what a slow or failing database changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connector.errors import CdcError, ErrorKind
from connector.preflight.slot_health import ServerSlots
from connector.start.decision import SlotState
from tests.support.log_line import log_text
from workers.telemetry.own.slot_watch import EVERY_S, KEPT_S, Settings, SlotWatch

MIB = 1 << 20


def slot(name: str, restart: int, confirmed: int, *, safe: int | None = None, status: str = "reserved") -> SlotState:
    return SlotState(name, "pgoutput", True, True, "shop", True, "pid 7", restart, confirmed, status, safe)


class Rig:
    """Connectors ``a`` and ``b`` on server 1, ``c`` on server 2."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.configs: dict[str, dict[str, str]] = {
            name: {"slot": name, "host": host, "password": "old"} for name, host in (("a", "1"), ("b", "1"), ("c", "2"))
        }
        self.servers: dict[str, ServerSlots | CdcError | asyncio.Event] = {}
        self.looks: list[tuple[str, Sequence[str], str]] = []
        self.located: list[str] = []
        self.passwords = "old"
        self.watch = SlotWatch(lambda: self.configs, self.locate, self.look, lambda: self.now)

    async def locate(self, config: Mapping[str, str]) -> tuple[str, Settings]:
        self.located.append(config["slot"])
        if config["host"] == "none":
            raise CdcError(ErrorKind.CONFIG_INVALID, "There is no host")
        return config["slot"], (("host", config["host"]), ("password", self.passwords))

    async def look(self, settings: Settings, slots: Sequence[str]) -> ServerSlots:
        values = dict(settings)
        self.looks.append((values["host"], slots, values["password"]))
        answer = self.servers[values["host"]]
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            raise CdcError(ErrorKind.SOURCE_TIMEOUT, "It was slow")
        if isinstance(answer, CdcError):
            raise answer
        return answer

    async def at(self, now: float) -> None:
        self.now = now
        await self.watch.fresh()

    def of(self, name: str, *fields: str) -> Any:
        found = self.watch.of(name)
        return None if found is None else [getattr(found, field) for field in fields]


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.servers = {
        "1": ServerSlots({"a": slot("a", 10 * MIB, 15 * MIB, safe=100 * MIB), "b": slot("b", 20 * MIB, 20 * MIB)}, 20 * MIB),
        "2": ServerSlots({}, 5),
    }
    return rig


async def test_the_figures_of_a_slot(rig: Rig) -> None:
    assert rig.watch.of("a") is None
    await rig.at(1_000)
    found = rig.watch.of("a")
    assert found is not None
    assert (found.lag_bytes, found.retained_bytes, found.safe_bytes, found.wal_status, found.active) == (
        5 * MIB,
        10 * MIB,
        100 * MIB,
        "reserved",
        True,
    )
    # How old the position is, and how fast the slot falls behind, is not known from one look.
    assert (found.lag_seconds, found.limit_seconds, found.server_lsn) == (0.0, None, 20 * MIB)
    # Its slot does not exist.
    assert rig.watch.of("c") is None
    assert rig.watch.of("unknown") is None


async def test_a_slot_that_falls_behind_reaches_its_limit(rig: Rig) -> None:
    await rig.at(1_000)
    rig.servers["1"] = ServerSlots(
        {"a": slot("a", 10 * MIB, 15 * MIB, safe=60 * MIB, status="extended"), "b": slot("b", 60 * MIB, 60 * MIB)}, 60 * MIB
    )
    await rig.at(1_010)
    # 4 MiB a second; 60 MiB are left. The confirmed position is older than the first look.
    assert rig.of("a", "limit_seconds", "lag_seconds", "wal_status") == [15.0, 10.0, "extended"]
    # This one keeps up, so that it reaches no limit.
    assert rig.of("b", "limit_seconds", "lag_seconds", "lag_bytes") == [None, 0.0, 0]


async def test_one_connection_for_each_server_and_not_too_often(rig: Rig) -> None:
    await rig.at(1_000)
    assert rig.looks == [("1", ["a", "b"], "old"), ("2", ["c"], "old")]
    await rig.at(1_000 + EVERY_S - 0.1)
    assert len(rig.looks) == 2
    await rig.at(1_000 + EVERY_S)
    assert len(rig.looks) == 4
    # A configuration is read again when it has changed.
    assert rig.located == ["a", "b", "c"]
    rig.configs["c"] = {"slot": "d", "host": "1"}
    del rig.configs["b"]
    await rig.at(2_000)
    assert rig.located == ["a", "b", "c", "d"]
    assert rig.looks[4:] == [("1", ["a", "d"], "old")]
    assert rig.watch.of("b") is None


async def test_a_slow_database_delays_no_scrape_and_its_figures_grow_old(rig: Rig) -> None:
    await rig.at(1_000)
    release = rig.servers["1"] = asyncio.Event()
    await rig.at(1_010)
    await rig.at(1_020)
    # The look is still under way, and no other begins beside it.
    assert len(rig.looks) == 4
    assert rig.of("a", "age_seconds", "lag_bytes") == [20.0, 5 * MIB]
    release.set()
    await rig.at(1_021)
    assert rig.of("a", "age_seconds") == [21.0]
    rig.now = 1_000 + KEPT_S + 1
    assert rig.watch.of("a") is None


async def test_a_failure_is_logged_once_and_the_settings_are_read_again(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    await rig.at(1_000)
    rig.servers["1"] = CdcError(ErrorKind.SOURCE_AUTHENTICATION, "The password of a is wrong")
    with caplog.at_level(logging.INFO):
        await rig.at(1_010)
        assert rig.of("a", "age_seconds") == [10.0]
        await rig.at(1_020)
    assert log_text(caplog.records).count("slots not seen for metrics") == 1
    rig.passwords = "new"
    rig.servers["1"] = ServerSlots({"a": slot("a", 1, 1)}, 1)
    await rig.at(1_030)
    assert rig.looks[-2:] == [("1", ["a", "b"], "new"), ("2", ["c"], "old")]
    assert rig.of("a", "age_seconds") == [0.0]


async def test_a_configuration_that_names_no_slot_hides_no_other(rig: Rig) -> None:
    rig.configs["a"]["host"] = "none"
    await rig.at(1_000)
    assert rig.watch.of("a") is None
    assert rig.of("b", "lag_bytes") == [0]


async def test_a_defect_is_logged_and_the_next_scrape_looks_again(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    del rig.servers["2"]
    with caplog.at_level(logging.INFO):
        await rig.at(1_000)
    assert "look at slots failed" in log_text(caplog.records)
    rig.servers["2"] = ServerSlots({"c": slot("c", 1, 1)}, 5)
    await rig.at(1_010)
    assert rig.of("c", "lag_bytes") == [4]
