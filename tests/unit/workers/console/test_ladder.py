from __future__ import annotations

from dataclasses import replace

from connector.preflight.slot_health import SlotHealth
from tests.support.console_site import HEALTH, SLOT
from tests.support.each_case import each_case
from workers.console.ladder import ladder

GOOD = ["good"] * 5


@each_case(
    ("found", "verdicts"),
    [
        (HEALTH, GOOD),
        (replace(HEALTH, problem="No answer."), ["bad", *["unknown"] * 4]),
        (replace(HEALTH, replicates=False), ["good", "bad", *["unknown"] * 3]),
        (replace(HEALTH, unreadable=["public.a"]), ["good", "warning", "good", "good", "good"]),
        (replace(HEALTH, slot=None), ["good", "good", "bad", "unknown", "unknown"]),
        (replace(HEALTH, slot=replace(SLOT, wal_status="lost")), ["good", "good", "bad", "unknown", "unknown"]),
        (replace(HEALTH, slot=replace(SLOT, plugin="wal2json")), ["good", "good", "bad", "unknown", "unknown"]),
        (replace(HEALTH, slot=replace(SLOT, wal_status="unreserved")), ["good", "good", "warning", "good", "good"]),
        (replace(HEALTH, slot=replace(SLOT, active=False)), ["good", "good", "good", "bad", "unknown"]),
        (replace(HEALTH, lsn=SLOT.confirmed + (1 << 30)), ["good", "good", "good", "good", "warning"]),
        (replace(HEALTH, missing_publication="shop"), ["good", "good", "good", "good", "bad"]),
        (replace(HEALTH, streams=False, replicates=False, slot=None), GOOD),
    ],
)
def test_the_ladder(found: SlotHealth, verdicts: list[str]) -> None:
    rungs = ladder(found)
    assert [rung.name for rung in rungs] == ["reachable", "role", "slot", "connected", "flowing"]
    assert [rung.verdict for rung in rungs] == verdicts
    assert all(bool(rung.remedy) == (rung.verdict in ("warning", "bad")) for rung in rungs)
