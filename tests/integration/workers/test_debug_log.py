"""The log of a worker at DEBUG, with the libraries set to DEBUG by hand too, holds no password."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

import pytest

from tests.fix_pg import PgServer
from tests.fix_worker import Worker
from tests.support.connector import Connector

REFERRED = "zq7referred"
WRITTEN = "zq7written"


@pytest.mark.pg_once
@pytest.mark.parametrize("log_format", ["text", "json"])
async def test_no_password_is_in_the_log_at_debug(pg: PgServer, worker: Callable[..., Worker], log_format: str) -> None:
    database = pg.database("debug")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    here = worker(
        log_format=log_format,
        environment={"LOG_LEVEL": "DEBUG", "UNDERSTUDY_TEST_SECRET": REFERRED},
        config_providers="env",
        config_providers_env_class="org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    )
    for logger in ("aiokafka", "aiokafka.producer", "psycopg", "httpx", "org.apache.kafka.clients", "org.postgresql", "root"):
        assert here.rest("PUT", f"/admin/loggers/{logger}", {"level": "DEBUG"}).is_success
    levels = {name: reported["level"] for name, reported in here.rest("GET", "/admin/loggers").json().items()}
    assert (levels["root"], levels["workers.herder.herder"], levels["aiokafka"]) == ("DEBUG", "DEBUG", "INFO")
    connector = Connector(here, database, f"debug_{uuid.uuid4().hex[:8]}")
    connector.create(
        {
            "database.password": "${env:UNDERSTUDY_TEST_SECRET}",
            "database.sslpassword": WRITTEN,
            "heartbeat.interval.ms": "1000",
            "snapshot.max.threads": "2",
        }
    )
    connector.await_confirmed(connector.lsn())
    assert await connector.seen("public.t") == [("r", 1)]
    connector.delete()
    here.stop()
    if log_format == "json":
        lines = [json.loads(line) for line in here.log.splitlines()]
        assert ("info", "connector.runner.task") in {(line["level"], line["logger"]) for line in lines}
    else:
        assert "level=info logger=connector.runner.task" in here.log
    for secret in (REFERRED, WRITTEN):
        assert secret not in here.log
