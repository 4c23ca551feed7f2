"""DuckDB as a reader of Delta tables."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import distribution

import duckdb
import pytest


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with its Delta extension from the wheel. DuckDB checks the extension's signature."""
    wheel = distribution("duckdb-extension-delta")
    path = next(wheel.locate_file(file) for file in wheel.files or () if file.name == "delta.duckdb_extension")
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        connection.execute(f"LOAD '{path}'")
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
