"""What the worker's first answer waits for: modules that only connectors need are imported after it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PARTS = """
import json, sys
import workers.__main__, workers.worker
from connect_api.app import create_app
from workers.console.site import add_console
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """All modules that a worker has imported before it listens."""
    done = subprocess.run([sys.executable, "-P", "-c", PARTS], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "late",
    [
        "connector.runner.task",
        "connector.config.validation",
        "connector.transforms.catalog",
        "connector.events",
        "psycopg",
        "jinja2",
        "rich",
        "workers.cli",
    ],
)
def test_the_first_answer_does_not_wait_for(late: str, imported: set[str]) -> None:
    assert late not in imported


def test_the_parts_of_the_first_answer_are_imported(imported: set[str]) -> None:
    assert {"connect_api.app", "workers.console.site", "workers.herder.herder", "connector.runner.context"} <= imported
