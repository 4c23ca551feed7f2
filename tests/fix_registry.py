"""A schema registry for tests: one for the whole session, which the first test that asks for it starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workers.quickstart.embedded.registry import EmbeddedRegistry


@pytest.fixture(scope="session")
def _running_registry() -> Iterator[EmbeddedRegistry]:
    with EmbeddedRegistry() as registry:
        yield registry


@pytest.fixture
def schema_registry(_running_registry: EmbeddedRegistry) -> Iterator[EmbeddedRegistry]:
    """A running schema registry. Schemas outlive a test: take topics of your own. A test may halt it; it runs again for the next one."""
    yield _running_registry
    _running_registry.resume()
