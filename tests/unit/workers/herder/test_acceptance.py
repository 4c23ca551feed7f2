"""Real configurations that the reference accepts are accepted, so that files need no edits before they are posted here.

Each configuration stands for one reason for which such files were refused, or could be. As recorded, Connect 4.3.0 with Debezium
3.6.3.Final validates all of them without an error and answers POST with 201.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from connect_api.bodies import new_connector
from connect_api.herder import HerderError
from connector.config.connector_config import parse
from connector.errors import CdcError
from connector.preflight.finding import Finding
from tests.support.each_case import each_case
from tests.support.herder_bench import Bench, worker
from workers.herder.configuration_check import ConfigurationCheck

WHOLE = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.port": "5432",
    "database.user": "shop",
    "database.password": "shop",
    "database.dbname": "shop",
    "topic.prefix": "shop",
    "plugin.name": "pgoutput",
}
BLANK = "\u200b"

TAKEN: dict[str, dict[str, Any]] = {
    "both names of the prefix": {"database.server.name": "shop"},
    "both names of a list": {"table.whitelist": "public.a", "table.include.list": "public.b"},
    "a former name whose value is malformed": {"column.blacklist": "("},
    "a former list against a present one": {"table.whitelist": "public.a", "table.exclude.list": "public.b"},
    "lineage": {"openlineage.integration.enabled": "true", "openlineage.integration.config.file.path": "/etc/openlineage.yml"},
    "a class for tls": {"database.sslfactory": "org.postgresql.ssl.DefaultJavaSSLFactory"},
    "a queue": {"queue.provider.type": "chronicle"},
    "a comment": {"_comment": "the shop's orders", "//": "see the wiki", "": "nothing"},
    "characters that nobody sees": {f"table.include{BLANK}.list": "public.a", f"{BLANK}slot.name": "s", "slot.name ": "t"},
    "a schema history": {"schema.history.internal.kafka.topic": "h", "schema.history.topic": "h", "database.history.kafka.topic": "h"},
    "a server's id": {"database.server.id": "184054"},
    "a topic of ddl": {"include.schema.changes": "true"},
    "a dead letter queue": {"errors.deadletterqueue.topic.name": "d", "errors.deadletterqueue.context.headers.enable": "true"},
    "a step that is not listed": {"transforms.unwrap.type": "no.such.Step", "transforms.unwrap.drop.tombstones": "x"},
    "steps that are empty": {"transforms": " ", "transforms.unwrap.type": "no.such.Step"},
    "numbers and booleans": {"database.port": 5432, "tasks.max": 1, "tombstones.on.delete": False, "made.up": 1.5},
    "booleans in capitals": {"tombstones.on.delete": "True", "provide.transaction.metadata": "FALSE"},
    "lists with blanks": {"table.include.list": " public.a , public.b ,, ", "column.exclude.list": " public.a.x ,"},
    "empty files of tls": {f"database.ssl{what}": "" for what in ("cert", "key", "rootcert", "password", "factory")},
    "an empty password": {"database.password": ""},
    "a null where there is a default": {"snapshot.mode": None},
    "channels that are not there": {"signal.enabled.channels": "source,in-process,other", "notification.enabled.channels": "log,other"},
    "options of a converter that is not named": {"key.converter.schemas.enable": "maybe"},
    "offsets in a topic of the connector's": {"offsets.storage.topic": "shop-offsets"},
    "a consumer": {"consumer.override.max.poll.records": "1"},
    "settings of a driver": {"driver.socketTimeout": "10", "database.made.up": "x"},
}
"""Nothing of them changes a record or keeps the task from running."""

FAILING: dict[str, dict[str, Any]] = {
    "half of a topic's settings": {"topic.creation.default.partitions": "1"},
    "a mask that is not there": {"column.mask.hash.NOPE.with.salt.x": "public.a.b"},
    "a truncation to nothing in 2.3.4": {"connector.plugin.version": "2.3.4.Final", "column.truncate.to.0.chars": "public.a.b"},
    "a channel without its cluster": {"signal.enabled.channels": "source,kafka"},
    "a java class for values": {"converters": "isbn", "isbn.type": "com.example.Isbn"},
    "a java class for events": {"post.processors": "mine", "mine.type": "com.example.Mine"},
    "a java class for snapshots": {"snapshot.mode": "custom", "snapshot.mode.custom.name": "com.example.Mine"},
    "a java class for topics": {"topic.naming.strategy": "com.example.Names"},
    "a java class of the producer": {"producer.override.interceptor.classes": "com.example.Watch"},
    "acknowledgements that are not there": {"producer.override.acks": "some"},
}
"""The reference takes them too, and its task fails; or only it has the class."""


class Reader:
    """Looks at a database as the real one begins: the configuration is read. Nothing is found."""

    async def __call__(self, settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
        parse(settings)
        return []


def sent(changes: Mapping[str, Any]) -> dict[str, str | None]:
    """As the REST interface reads a body."""
    return dict(new_connector(orjson.dumps({"name": "shop", "config": {**WHOLE, **changes}})).config)


async def posted(bench: Bench, changes: Mapping[str, Any]) -> list[str]:
    """Validate it, then create it; the warnings."""
    infos = await bench.herder.validate_config("PostgresConnector", sent(changes))
    assert [line for _, value in infos.configs for line in value.errors] == []
    await bench.create(sent(changes))
    return [line for _, value in infos.configs for line in value.warnings]


@each_case("reason", TAKEN)
async def test_settings_without_effect_on_records_are_accepted(reason: str) -> None:
    async with worker(check=ConfigurationCheck(Reader())) as bench:
        assert await posted(bench, TAKEN[reason]) == []
        parse(bench.running["shop"].config)


async def test_the_log_names_an_offsets_topic_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    async with worker(check=ConfigurationCheck(Reader())) as bench:
        await posted(bench, {"offsets.storage.topic": "shop-offsets"})
    [line] = [record.__dict__["fields"] for record in caplog.records if record.getMessage().startswith("offsets.storage.topic")]
    assert line == {"named": "shop-offsets", "used": "connect-offsets"}


@each_case("reason", FAILING)
async def test_a_configuration_that_cannot_run_is_accepted_with_a_warning_and_the_task_fails(reason: str) -> None:
    async with worker(check=ConfigurationCheck(Reader())) as bench:
        [warning] = await posted(bench, FAILING[reason])
        if "shop" in bench.running:
            with pytest.raises(CdcError) as failure:
                parse(bench.running["shop"].config)
            trace = str(failure.value)
        else:
            trace = bench.herder.task_status("shop", 0).trace or ""
        assert warning.rstrip(".") in trace


@each_case("reason", FAILING)
async def test_a_configuration_that_cannot_run_is_refused_if_the_worker_is_set_to(reason: str) -> None:
    async with worker(properties={"preflight": "refuse"}, check=ConfigurationCheck(Reader(), "refuse")) as bench:
        with pytest.raises(HerderError) as refusal:
            await bench.create(sent(FAILING[reason]))
        assert refusal.value.status == 400


@each_case(
    ("changes", "line"),
    [
        (
            {"database.server.name": "old"},
            "Property database.server.name is a former name of topic.prefix; both are set, and topic.prefix counts.",
        ),
        (
            {f"table.include{BLANK}.list": "a"},
            f"Property table.include{BLANK}.list is unknown and has no effect; did you mean table.include.list?",
        ),
        ({"slot.name ": "a"}, "Property slot.name  is unknown and has no effect; did you mean slot.name?"),
        ({"_comment": "a"}, "Property _comment is unknown and has no effect."),
        (
            {"database.history.kafka.topic": "a"},
            (
                "Property database.history.kafka.topic has no effect: PostgreSQL sends the structure along with the changes,"
                " so no history is kept."
            ),
        ),
        (
            {"transforms": "", "transforms.unwrap.type": "a"},
            "Property transforms.unwrap.type has no effect: transforms does not list unwrap.",
        ),
        (
            {"errors.deadletterqueue.topic.name": "a"},
            "Property errors.deadletterqueue.topic.name has no effect: Only sink connectors have a dead letter queue.",
        ),
        ({"database.server.id": "1"}, "Property driver.server.id or database.server.id has no effect: libpq has no such setting."),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_one_line_names_what_has_no_effect(changes: dict[str, str], line: str) -> None:
    _, lines = parse({"name": "shop", **WHOLE, **changes})
    assert lines == [line]
