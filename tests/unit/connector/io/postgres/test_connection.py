"""How the connector connects, and which of libpq's failures pass by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from connector.config.connector_config import parse
from connector.errors import CdcError, Directive, ErrorKind
from connector.io.postgres import connection as pg_connection
from tests.support.each_case import each_case
from tests.support.stream_rig import configured

AT = 'connection failed: connection to server at "10.0.0.1", port 5432 failed: '


@each_case(
    "reported",
    [
        f"{AT}FATAL:  the database system is starting up",
        f"{AT}FATAL:  the database system is not yet accepting connections\nDETAIL:  Consistent recovery state has not been yet reached.",
        f"{AT}FATAL:  the database system is in recovery mode",
        f"{AT}FATAL:  the database system is shutting down",
        f"{AT}FATAL:  sorry, too many clients already",
        f"{AT}Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?",
        f"{AT}server closed the connection unexpectedly",
        "consuming input failed: could not receive data from server: Connection timed out",
        "the connection is closed",
    ],
)
def test_a_server_that_is_away_for_a_while_is_tried_again(reported: str) -> None:
    assert pg_connection.source_error(psycopg.OperationalError(reported), "connecting").directive is Directive.RETRY


class Reported(psycopg.Error):
    """An error with a SQLSTATE, as the server sends it."""

    def __init__(self, state: str) -> None:
        super().__init__("it is said")
        self.sqlstate = state


@each_case(
    ("state", "directive", "passes"),
    [
        ("40001", Directive.RETRY, True),
        ("40P01", Directive.RETRY, True),
        ("53100", Directive.RETRY, True),
        ("53200", Directive.RETRY, True),
        ("53300", Directive.RETRY, True),
        ("53400", Directive.OPERATOR, False),
        ("57P01", Directive.RETRY, True),
        ("57P05", Directive.RETRY, True),
        ("57014", Directive.RETRY, False),
        ("25P03", Directive.RETRY, True),
        ("25P04", Directive.RETRY, True),
        ("XX000", Directive.RETRY, False),
        ("28P01", Directive.OPERATOR, False),
        ("42703", Directive.OPERATOR, False),
        ("22012", Directive.OPERATOR, False),
    ],
)
def test_states_that_pass_are_tried_again(state: str, directive: Directive, passes: bool) -> None:
    error = pg_connection.source_error(Reported(state), "reading")
    assert (error.directive, error.passes) == (directive, passes)


class Limited(psycopg.errors.ConfigurationLimitExceeded):
    """SQLSTATE 53400 with the server's message and hint, which may be in any language."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def diag(self) -> Any:
        return SimpleNamespace(message_primary=str(self), message_hint=self.hint)


@pytest.mark.parametrize(
    ("error", "begins"),
    [
        (Limited("la taille du fichier temporaire dépasse « temp_file_limit » (100 Ko)"), "Raise temp_file_limit or work_mem"),
        (Limited("all replication slots are in use", 'Free one or increase "max_replication_slots".'), "Raise max_replication_slots"),
        (Limited("out of logical replication worker slots"), "Raise the limit that the server names"),
    ],
)
def test_a_limit_has_the_remedy_of_the_setting_that_the_server_names(error: psycopg.Error, begins: str) -> None:
    found = pg_connection.source_error(error, "reading")
    assert (found.kind, found.remedy.startswith(begins)) == (ErrorKind.SOURCE_SETTING, True), found


@pytest.mark.parametrize(
    "reported",
    [
        'FATAL:  number of requested standby connections exceeds "max_wal_senders" (currently 1)',
        "FATAL:  sorry, too many clients already",
        'FATAL:  too many connections for role "u"',
        "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
    ],
)
def test_a_server_without_a_free_connection_has_the_remedy_for_that(reported: str) -> None:
    found = pg_connection.source_error(psycopg.OperationalError(f"{AT}{reported}"), "connecting")
    assert found.kind is ErrorKind.SOURCE_UNREACHABLE
    assert "max_wal_senders or the role's connection limit" in found.remedy


async def arguments(monkeypatch: pytest.MonkeyPatch, properties: Mapping[str, str]) -> dict[str, Any]:
    """What libpq is given."""
    given: dict[str, Any] = {}

    async def connect(**arguments: Any) -> None:
        given.update(arguments)
        raise psycopg.OperationalError("no server here")

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", connect)
    config, _ = parse({**configured().raw, **properties})
    with pytest.raises(CdcError):
        await pg_connection.connect(config, "test")
    return given


async def test_a_network_that_swallows_packets_is_noticed_within_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    given = await arguments(monkeypatch, {})
    assert given["keepalives"] == 1
    assert given["keepalives_idle"] + given["keepalives_interval"] * given["keepalives_count"] <= 30
    assert given["tcp_user_timeout"] <= 20_000


async def test_the_limits_of_the_configuration_count(monkeypatch: pytest.MonkeyPatch) -> None:
    given = await arguments(monkeypatch, {"driver.tcp_user_timeout": "60000", "driver.keepalives_idle": "120"})
    assert (given["tcp_user_timeout"], given["keepalives_idle"]) == ("60000", "120")
