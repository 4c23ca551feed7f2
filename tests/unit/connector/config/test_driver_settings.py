from __future__ import annotations

import pytest

from connector.config.connector_config import parse
from connector.config.driver_settings import connection_settings
from connector.io.postgres.connection import connect_timeout
from tests.support.each_case import each_case
from tests.support.stream_rig import configured


@each_case(
    ("name", "value", "libpq"),
    [
        ("target_session_attrs", "read-write", {"target_session_attrs": "read-write"}),
        ("channel_binding", " require ", {"channel_binding": "require"}),
        ("connectTimeout", "7", {"connect_timeout": "7"}),
        ("tcpKeepAlive", "false", {"keepalives": "0"}),
        ("ApplicationName", "me", {"application_name": "me"}),
        ("gssEncMode", "allow", {"gssencmode": "prefer"}),
        ("gssEncMode", "disable", {"gssencmode": "disable"}),
        ("targetServerType", "master", {"target_session_attrs": "primary"}),
        ("targetServerType", "preferSecondary", {"target_session_attrs": "prefer-standby"}),
        ("loadBalanceHosts", "true", {"load_balance_hosts": "random"}),
        ("ssl", "true", {"sslmode": "verify-full"}),
    ],
)
def test_known_settings(name: str, value: str, libpq: dict[str, str]) -> None:
    settings = connection_settings({name: value})
    assert (settings.libpq, settings.options, settings.idle) == (libpq, "", ())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("socketTimeout", "5"),
        ("targetServerType", "nearest"),
        ("ssl", "false"),
        ("host", "elsewhere"),
        ("replication", "true"),
        ("dbname", "x"),
    ],
)
def test_settings_without_effect(name: str, value: str) -> None:
    settings = connection_settings({name: value})
    assert (settings.libpq, settings.idle) == ({}, (name,))


@pytest.mark.parametrize(("given", "seconds"), [(None, 30), ("5000", 5), ("5001", 6), ("1", 2)])
def test_time_for_opening_a_connection(given: str | None, seconds: int) -> None:
    config, _ = parse({**configured().raw, **({} if given is None else {"database.connection.timeout.ms": given})})
    assert connect_timeout(config, 30) == seconds


def test_libpqs_own_name_wins_over_the_java_drivers() -> None:
    for order in (("connect_timeout", "connectTimeout"), ("connectTimeout", "connect_timeout")):
        given = {name: "3" if name == "connect_timeout" else "9" for name in order}
        assert connection_settings(given).libpq == {"connect_timeout": "3"}


def test_options_and_the_search_path() -> None:
    settings = connection_settings({"currentSchema": "my schema,public", "options": "-c work_mem=8MB"})
    assert settings.options == r"-c search_path=my\ schema,public -c work_mem=8MB"


def test_settings_without_effect_are_reported_without_their_values() -> None:
    config, notices = parse(
        {**configured().raw, "driver.socketTimeout": "secret-1", "database.gssEncMode": "disable", "driver.sslfactoryarg": "secret-2"}
    )
    reported = [notice for notice in notices if "libpq" in notice]
    assert len(reported) == 2
    assert "socketTimeout" in reported[0]
    assert not any("secret" in notice for notice in notices)
    assert connection_settings(config.driver).libpq == {"gssencmode": "disable"}
