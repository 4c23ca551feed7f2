"""``understudy tail``: the records of a topic as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from connector.catalog.identifiers import split_name
from connector.errors import CdcError, ErrorKind
from connector.events.topic_names import TopicNames, sanitize_topic
from workers.cli.connector_config import PREFIX, resolved
from workers.cli.failure import CommandError
from workers.cli.kafka import topic_partitions, with_kafka
from workers.cli.output import Output, with_output
from workers.cli.records import event_text
from workers.cli.records.decoding import Decoder
from workers.cli.records.registry_place import RegistryPlace
from workers.cli.rest import DEFAULT_URL, RefusedError, Rest, connector_path, open_rest, rest_options
from workers.settings.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from workers.cli.records.apicurio import ApicurioSchemas
    from workers.cli.records.registry import Registry

Begin = Literal["beginning", "end"]
_FORBIDDEN: Final = 403
_REMEDY: Final = "Give --worker FILE (the worker's .properties, on a machine with its secrets), or name the topic itself."
_NO_REGISTRY: Final = (
    "The records have ids of a registry's schemas, and are shown as bytes. Give --registry URL: of a registry with Confluent's API, or of "
    "Apicurio's http://HOST/apis/registry/v3."
)


@click.command("tail")
@click.argument("names", metavar="TOPIC | CONNECTOR TABLE", nargs=-1, required=True)
@click.option("--from", "begin", type=click.Choice(["beginning", "end"]), default="end", show_default=True, help="Where to begin.")
@click.option("-n", "count", type=click.IntRange(min=1), help="End after this many records.")
@click.option(
    "--registry",
    metavar="URL",
    envvar="UNDERSTUDY_REGISTRY",
    show_envvar=True,
    help="The schema registry of Avro records. Default: that of the connector, or of --worker.",
)
@with_kafka
@rest_options(DEFAULT_URL)
@with_output
def command(
    names: tuple[str, ...],
    begin: Begin,
    count: int | None,
    registry: str | None,
    kafka: Mapping[str, str],
    url: str,
    user: str | None,
    netrc: Path | None,
    ca_file: Path | None,
    out: Output,
) -> None:
    """Show the records of TOPIC, or those of TABLE (schema.table, without a schema in public) of CONNECTOR, as they come. Ctrl-C ends it.

    A terminal shows what changed in each row. A pipe gets one JSON object for each record. The command joins no consumer group.
    """
    if len(names) > 2:
        raise click.UsageError("Give a topic, or a connector and a table.")
    topic, config = names[0], dict(kafka)
    if len(names) == 2:
        rest = open_rest(url, user, netrc, ca_file)
        own = resolved(
            names[0], rest.get(connector_path(names[0], "/config")), partial(WorkerSettings.from_properties, kafka), PREFIX, _REMEDY
        )
        topic = topic_of(own, names[1], used_topics(rest, names[0]))
        config |= own
    place = RegistryPlace(registry) if registry else RegistryPlace.of(config)
    decoder = Decoder(_opened(place).schema if place else None)
    try:
        asyncio.run(_follow(topic, kafka, begin, count, decoder, out))
    except KeyboardInterrupt:
        # The usual end.
        return


def _opened(place: RegistryPlace) -> Registry | ApicurioSchemas:
    registry = place.open()
    click.get_current_context().call_on_close(registry.close)
    return registry


def used_topics(rest: Rest, name: str) -> list[str]:
    """The topics that the connector has written to; none where the worker does not track them."""
    try:
        answer = rest.found(connector_path(name, "/topics"))
    except RefusedError as refused:
        if refused.status == _FORBIDDEN:
            # topic.tracking.enable=false
            return []
        raise
    return list(answer[name]["topics"]) if answer else []


def topic_of(config: Mapping[str, str], table: str, used: list[str]) -> str:
    """The topic of a table: by the connector's own rule, unless transforms send its records to another of the topics in use.

    Raises CommandError if several topics could be meant.
    """
    strategy = config.get("topic.naming.strategy", "")
    names = TopicNames(
        config.get("topic.prefix", ""),
        config.get("topic.delimiter", "."),
        with_schema=not strategy.endswith(".DefaultTopicNamingStrategy"),
    )
    first, *others = split_name(table)
    schema, name = (first, ".".join(others)) if others else ("public", first)
    named = names.table(schema, name)
    if named in used or not config.get("transforms"):
        return named
    last = sanitize_topic(name.rpartition(".")[2])
    meant = [topic for topic in used if topic == last or topic.endswith((f".{last}", f"-{last}", f"_{last}"))]
    if len(meant) == 1:
        return meant[0]
    known = ", ".join(sorted(used)) or "none yet"
    raise CommandError(f"The transforms decide the topic of {table}", f"Name the topic itself; the connector has written to: {known}.")


async def _follow(topic: str, kafka: Mapping[str, str], begin: Begin, count: int | None, decoder: Decoder, out: Output) -> None:
    shown = 0
    async with aclosing(records(topic, kafka, begin)) as found:
        async for record in found:
            told = decoder.lacks_registry
            key = decoder.decode(record.key, "key", record.headers)
            value = decoder.decode(record.value, "value", record.headers)
            if decoder.lacks_registry and not told:
                click.echo(f"understudy: {_NO_REGISTRY}", err=True)
            if out.text:
                for line in event_text.lines(f"{record.topic}-{record.partition}@{record.offset}", record.timestamp, key, value):
                    out.line(line.text, line.style)
            else:
                place = {"topic": record.topic, "partition": record.partition, "offset": record.offset, "timestamp": record.timestamp}
                try:
                    out.json_line({**place, "key": key, "value": value})
                except RecursionError:
                    # JSON of hundreds of levels. Its text is one value.
                    out.json_line({**place, "key": _text(record.key), "value": _text(record.value)})
            shown += 1
            if shown == count:
                return


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


async def records(topic: str, kafka: Mapping[str, str], begin: Begin) -> AsyncGenerator[Any, None]:
    """The committed records of all partitions, as they come. Raises CommandError for a topic that does not exist."""
    from aiokafka import AIOKafkaConsumer, TopicPartition  # noqa: PLC0415
    from aiokafka.errors import KafkaError  # noqa: PLC0415

    from connector.io.kafka.client import client_arguments, connection_problem  # noqa: PLC0415

    arguments = client_arguments(kafka)
    consumer = AIOKafkaConsumer(group_id=None, enable_auto_commit=False, isolation_level="read_committed", **arguments)
    try:
        await consumer.start()
        found = await topic_partitions(arguments, lambda name: name == topic)
        if not found:
            raise CommandError(
                f"The topic {topic} does not exist", "GET /connectors/NAME/topics lists those that a connector has written to."
            )
        places = [TopicPartition(topic, number) for number in found[topic]]
        consumer.assign(places)
        await (consumer.seek_to_beginning(*places) if begin == "beginning" else consumer.seek_to_end(*places))
        while True:
            yield await consumer.getone()
    except KafkaError as problem:
        raise await connection_problem(arguments) or CdcError(
            ErrorKind.SINK_UNREACHABLE,
            f"Kafka at {kafka['bootstrap.servers']} cannot be read",
            "Check --bootstrap or --worker, and that the brokers run.",
            type(problem).__name__,
        ) from problem
    finally:
        await consumer.stop()
