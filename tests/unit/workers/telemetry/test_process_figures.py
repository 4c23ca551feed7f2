from __future__ import annotations

import time

from workers.telemetry.process_figures import process_families


def test_figures_of_this_process() -> None:
    found = {family.series: family.values[0] for family in process_families()}
    assert found["process_cpu_seconds_total"] > 0
    assert 1_000_000 < found["process_resident_memory_bytes"] < found["process_virtual_memory_bytes"]
    assert time.time() - 86_400 < found["process_start_time_seconds"] <= time.time() + 1
    assert 3 <= found["process_open_fds"] < found["process_max_fds"]
