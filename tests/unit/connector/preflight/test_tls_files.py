"""Files and values of a connection that are refused before libpq or OpenSSL reads them, and the messages."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from connector.config.connector_config import ConnectorConfig, parse
from connector.config.driver_settings import cut_values
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.tls import client_context
from connector.io.postgres import preflight as pg_preflight
from connector.io.postgres.connection import connect
from connector.preflight.tls_files import SENTENCES, named_property, property_of

BASE = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "127.0.0.1",
    "database.port": "1",
    "database.user": "postgres",
    "database.password": "p",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """The lines of the log: events with their fields."""
    return "\n".join(
        " ".join([record.getMessage(), *(f"{name}={value}" for name, value in record.__dict__.get("fields", {}).items())])
        for record in caplog.records
    )


def config(**changes: str) -> ConnectorConfig:
    return parse({**BASE, **{name.replace("__", "."): value for name, value in changes.items()}})[0]


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """What a path may lead to."""
    (tmp_path / "malformed").write_text("root:x:0:0\n")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"\0" * (1 << 21))
    return {name: str(tmp_path / name) for name in ("missing", "malformed", "directory", "fifo", "large")} | {"device": "/dev/zero"}


@pytest.mark.parametrize(
    "name",
    [
        "database.user",
        "database.password",
        "database.dbname",
        "database.sslrootcert",
        "driver.ApplicationName",
        "driver.options",
        "slot.name",
    ],
)
async def test_a_value_that_libpq_would_cut_is_refused_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", never)
    with_nul = config()
    object.__setattr__(with_nul, "raw", {**BASE, name: "hunter\0two"})
    with pytest.raises(CdcError) as caught:
        await connect(with_nul, "test")
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert caught.value.message == f"The value of {name} holds a NUL character, where libpq would cut it"
    assert "hunter" not in str(caught.value)


async def test_the_check_of_a_configuration_names_such_values() -> None:
    found = await pg_preflight.findings(
        {**BASE, "database.password": "hunter\0two", "publication.name": "a\0b", "heartbeat.topics.prefix": "\0"}
    )
    assert [(finding.key, finding.warning) for finding in found] == [("database.password", False), ("publication.name", True)]
    assert all("holds a NUL character" in finding.text and "hunter" not in finding.text for finding in found)


def test_values_that_reach_no_libpq_may_hold_anything() -> None:
    assert cut_values({"topic.prefix": "a\0", "message.key.columns": "\0", "database.user": "plain"}) == []
    override = "snapshot.select.statement.overrides.public.t"
    assert cut_values({override: "\0", "database.initial.statements": "\0", "driver.x": "\0"}) == [
        "driver.x",
        override,
        "database.initial.statements",
    ]


@pytest.mark.parametrize("name", ["sslrootcert", "sslcert", "sslkey"])
@pytest.mark.parametrize("place", ["directory", "fifo", "large", "device"])
async def test_libpq_is_kept_from_what_it_would_wait_for(
    name: str, place: str, places: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    # Nothing listens on port 1: libpq would say that first.
    with pytest.raises(CdcError) as caught:
        await connect(config(**{f"database__{name}": places[place], "database__sslmode": "verify-full"}), "test")
    assert caught.value.message == SENTENCES[f"database.{name}"]
    assert str(caught.value.__cause__) == SENTENCES[f"database.{name}"]
    assert places[place] not in str(caught.value)
    assert "reason=" in logged(caplog)


@pytest.mark.parametrize(
    "words",
    [
        'root certificate file "/f" does not exist',
        'could not read root certificate file "/f": no certificate or crl found',
        'could not load private key file "/f": bad decrypt',
        'private key file "/f" has group or world access; file must have permissions u=rw (0600) or less if owned by the current user',
        'private key file "/f" is not a regular file',
        'certificate present, but not private key file "/f"',
        'could not open certificate file "/f": Permission denied',
        'could not read certificate file "/f": no start line',
    ],
)
async def test_libpq_s_messages_about_files_are_only_in_the_log(
    words: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(*_: object, **__: object) -> None:
        raise psycopg.OperationalError(f'connection to server at "127.0.0.1", port 1 failed: {words}')

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", failing)
    with pytest.raises(CdcError) as caught:
        await connect(config(), "test")
    assert caught.value.message in SENTENCES.values()
    assert named_property(str(caught.value.__cause__)) == property_of(words)
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.__context__ is None
    assert words in logged(caplog)


def test_other_words_are_no_business_of_files() -> None:
    assert property_of('FATAL:  could not load private key file "/server.key"') is None
    assert property_of("Connection refused") is None


@pytest.mark.parametrize("name", ["sslrootcert", "sslcert", "sslkey"])
async def test_a_look_says_the_same_of_every_file_that_does_not_serve(
    name: str, places: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    reported = {finding.text for path in places.values() for finding in pg_preflight._unusable_files(config(**{f"database__{name}": path}))}
    assert reported == {f"{SENTENCES[f'database.{name}']}; TLS may do without it"}
    reasons = {str(record.__dict__["fields"]["reason"]).partition(":")[0] for record in caplog.records}
    assert len(reasons) >= 3


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_kafkas_stores_report_every_failure_alike(store: str, places: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    reported = set()
    for path in places.values():
        with pytest.raises(CdcError) as caught:
            client_context({f"ssl.{store}.location": path, f"ssl.{store}.type": "PEM"})
        reported.add(str(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    assert len(reported) == 1
    assert len({str(record.__dict__["fields"]) for record in caplog.records}) >= 3
