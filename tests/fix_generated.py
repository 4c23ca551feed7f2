"""Compiles each source that the connector generates for a table or a schema once: the tests make the same ones thousands of times."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from functools import lru_cache

import pytest

from connector.record import generated


@pytest.fixture(scope="session", autouse=True)
def _generated_sources_are_compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generated, "compile", lru_cache(maxsize=10_000)(builtins.compile), raising=False)
        yield
