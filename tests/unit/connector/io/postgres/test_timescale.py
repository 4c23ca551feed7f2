"""How the transform TimescaleDb connects."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from connector.errors import CdcError, ErrorKind
from connector.io.postgres.timescale import PostgresTimescale
from tests.support.stream_rig import configured


def arguments(monkeypatch: pytest.MonkeyPatch, options: dict[str, str], properties: dict[str, str]) -> dict[str, Any]:
    """What libpq is given."""
    given: dict[str, Any] = {}

    def connect(**arguments: Any) -> None:
        given.update(arguments)
        raise psycopg.OperationalError("no server here")

    monkeypatch.setattr(psycopg, "connect", connect)
    catalog = PostgresTimescale(options, {**configured().raw, **properties})
    with pytest.raises(CdcError) as caught:
        catalog.chunks()
    assert caught.value.kind is ErrorKind.SOURCE_UNREACHABLE
    return given


def test_it_connects_as_the_connector_does(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {
        "database.sslmode": "verify-full",
        "database.sslrootcert": __file__,
        "driver.sslsni": "0",
        "driver.options": "-c role=reader",
    }
    given = arguments(monkeypatch, {"database.hostname": "other", "driver.tcp_user_timeout": "7"}, properties)
    assert (given["host"], given["user"], given["dbname"]) == ("other", "nobody", "shop")
    assert (given["sslmode"], given["sslrootcert"], given["sslsni"], given["tcp_user_timeout"]) == ("verify-full", __file__, "0", "7")
    assert given["options"].startswith("-c role=reader ")
    assert given["options"].endswith("-c statement_timeout=5000")
    assert (given["connect_timeout"], given["application_name"]) == (5, "Understudy TimescaleDB")


def test_a_value_that_libpq_would_cut_is_refused() -> None:
    with pytest.raises(CdcError) as caught:
        PostgresTimescale({"database.hostname": "db\0.example"}, configured().raw)
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
