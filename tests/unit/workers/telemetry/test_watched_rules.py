"""A rule file that changes while the worker runs (:mod:`workers.telemetry.watched_rules`)."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from connector.errors import CdcError
from connector.ports import no_backtracking
from tests.support.log_line import log_text
from workers.telemetry.exposition import Exposition
from workers.telemetry.mbean import MBean
from workers.telemetry.watched_rules import WatchedRules

WORKER = MBean("kafka.connect", (("type", "connect-worker-metrics"),), {"connector-count": 2.0})


class Watched:
    """A file, and the scrapes by its rules."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._written = 0
        self.write("first")
        rules = WatchedRules(str(file), no_backtracking)
        self._exposition = Exposition(rules.first, lambda: [WORKER], rules.families, renewed=rules.renewed)

    def write(self, name: str, text: str = "rules: [{pattern: 'kafka.connect.+<>(.+)-count', name: %s}]") -> None:
        self.file.write_text(text.replace("%s", name))
        # A file system may have coarser times than two writes are apart.
        self._written += 1
        os.utime(self.file, ns=(self._written, self._written))

    async def scraped(self) -> dict[str, float]:
        body, _ = await self._exposition.scrape("")
        lines = [line.split() for line in body.decode().splitlines() if not line.startswith(("#", "process_", "jmx_scrape"))]
        return {name.removeprefix("jmx_config_reload_"): float(value) for name, value in lines}


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "rules.yml")


async def test_a_changed_file_takes_effect_at_the_next_scrape(watched: Watched) -> None:
    assert await watched.scraped() == {"first": 2.0, "success_total": 0, "failure_total": 0}
    watched.write("second")
    assert await watched.scraped() == {"second": 2.0, "success_total": 1, "failure_total": 0}
    assert await watched.scraped() == {"second": 2.0, "success_total": 1, "failure_total": 0}


async def test_a_changed_file_that_cannot_be_used_changes_nothing_and_is_named_once(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.write("", "rules: 5")
    for _ in range(2):
        assert await watched.scraped() == {"first": 2.0, "success_total": 0, "failure_total": 1}
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "rules must be a list" in log_text(errors)
    watched.write("second")
    assert await watched.scraped() == {"second": 2.0, "success_total": 1, "failure_total": 1}


async def test_a_removed_file_changes_nothing_until_it_is_there_again(watched: Watched) -> None:
    watched.file.unlink()
    assert await watched.scraped() == {"first": 2.0, "success_total": 0, "failure_total": 0}
    watched.write("second")
    assert await watched.scraped() == {"second": 2.0, "success_total": 1, "failure_total": 0}


async def test_built_in_rules_are_not_watched() -> None:
    rules = WatchedRules("debezium", no_backtracking)
    assert await rules.renewed() is None
    assert list(rules.families()) == []


def test_a_file_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(CdcError, match="No such file"):
        WatchedRules(str(tmp_path / "none.yml"), no_backtracking)
