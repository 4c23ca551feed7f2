"""The process that matches patterns which RE2 cannot match."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connector.io.regex_process import BacktrackingProcess


@pytest.fixture(scope="session")
def backtrack() -> Iterator[BacktrackingProcess]:
    process = BacktrackingProcess()
    yield process
    process.close()
