"""The check of a configuration: what only the reading of it finds is told like everything else, not as a defect of the worker."""

from collections.abc import Mapping, Sequence

from connector.config import parse
from connector.config_validation import error_lines
from connector.preflight.finding import Finding
from workers.validation import ConfigurationCheck

CONFIG = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "shop",
    "database.password": "shop",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}


async def look(settings: Mapping[str, str]) -> Sequence[Finding]:
    """As the real one begins; there is no database to look at."""
    parse(settings)
    return []


async def test_a_good_configuration_has_no_lines() -> None:
    assert error_lines(await ConfigurationCheck(look)("shop", CONFIG)) == []


async def test_what_the_reading_refuses_is_a_line() -> None:
    [line] = error_lines(await ConfigurationCheck(look)("shop", {**CONFIG, "topic.creation.default.partitions": "1"}))
    assert 'Missing required configuration "topic.creation.default.replication.factor"' in line
