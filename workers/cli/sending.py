"""Sends a signal to a connector on the best way that its configuration opens."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from connector.errors import CdcError, ErrorKind
from workers.cli.channels import WAYS, Way, choose, no_way
from workers.cli.connector_config import PREFIX, resolved
from workers.cli.failure import CommandError
from workers.cli.rest import RefusedError, Rest, connector_path
from workers.settings.worker_settings import WorkerSettings, current_environment, worker_properties

_NOT_FOUND: Final = 404
_PURPOSE: Final = "Understudy Signal"


@dataclass(frozen=True, slots=True)
class Access:
    """What a caller gives so that signals reach the connector's own servers: ``worker`` resolves references, ``database`` is a DSN."""

    via: Way | None = None
    worker: Path | None = None
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A signal that was sent: its id, and on which way."""

    id: str
    via: Way
    place: str

    def as_json(self) -> dict[str, str]:
        """The answer in a pipe."""
        return {"id": self.id, "via": self.via, "place": self.place}


def send(rest: Rest, name: str, kind: str, data: Mapping[str, Any] | None, access: Access, signal_id: str | None = None) -> Sent:
    """Send the signal and say where it is now. Raises CommandError that names what is missing."""
    config: dict[str, str] = rest.get(connector_path(name, "/config"))
    choice = choose(config)
    ways = choice.ways if access.via is None else (access.via,)
    if access.database is not None and access.via is None and "source" in choice.ways:
        ways = ("source",)
    if not ways:
        raise no_way(name, choice)
    own_id = signal_id or str(uuid.uuid4())
    for way in ways:
        if way == "rest":
            sent = _by_rest(rest, name, own_id, kind, data, last=way == ways[-1])
        elif way == "kafka":
            sent = asyncio.run(_by_kafka(name, _resolved(name, config, access, ("signal.", *PREFIX)), own_id, kind, data))
        else:
            sent = asyncio.run(_by_table(name, config, access, own_id, kind, data))
        if sent is not None:
            return sent
    raise no_way(name, choice)


def _by_rest(rest: Rest, name: str, own_id: str, kind: str, data: Mapping[str, Any] | None, *, last: bool) -> Sent | None:
    """None when the worker has no such call, because it is Kafka Connect, and another way is left."""
    path = connector_path(name, "/signals")
    try:
        answer = rest.call("POST", path, {"id": own_id, "type": kind, **({} if data is None else {"data": data})})
    except RefusedError as refused:
        if refused.status != _NOT_FOUND:
            raise
        if last:
            raise CommandError(
                f"The worker at {rest.url} takes no signals by REST: it is Kafka Connect",
                "Enable the channel source or kafka, or send the signal through JMX.",
            ) from refused
        return None
    return Sent(answer["id"], "rest", f"{rest.url}{path}")


async def _by_kafka(name: str, config: Mapping[str, str], own_id: str, kind: str, data: Mapping[str, Any] | None) -> Sent:
    from aiokafka import AIOKafkaProducer  # noqa: PLC0415
    from aiokafka.errors import KafkaError  # noqa: PLC0415

    from connector.io.kafka.client import client_arguments, connection_problem  # noqa: PLC0415

    prefix = "signal.consumer."
    clients = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    clients["bootstrap.servers"] = config.get("signal.kafka.bootstrap.servers", "")
    if not clients["bootstrap.servers"]:
        raise CommandError(f"The connector {name} has no signal.kafka.bootstrap.servers", "Set it, or use another channel.")
    topic = config.get("signal.kafka.topic") or f"{config['topic.prefix']}-signal"
    value = json.dumps({"id": own_id, "type": kind, "data": data or {}}).encode()
    arguments = client_arguments(clients)
    producer = AIOKafkaProducer(acks="all", **arguments)
    try:
        await producer.start()
        sent = await producer.send_and_wait(topic, value, config["topic.prefix"].encode(), partition=0)
    except KafkaError as problem:
        raise await connection_problem(arguments) or CdcError(
            ErrorKind.SINK_UNREACHABLE,
            f"The signal topic {topic} at {clients['bootstrap.servers']} does not take the signal",
            "Check that the brokers run, that the topic exists, and that this user may write to it.",
            type(problem).__name__,
        ) from problem
    finally:
        await producer.stop()
    return Sent(own_id, "kafka", f"{topic}-0@{sent.offset}")


async def _by_table(name: str, config: Mapping[str, str], access: Access, own_id: str, kind: str, data: Mapping[str, Any] | None) -> Sent:
    import psycopg  # noqa: PLC0415

    from connector.catalog.identifiers import quote_table, split_name  # noqa: PLC0415
    from connector.config.connector_config import parse  # noqa: PLC0415
    from connector.io.postgres.connection import connect, source_error  # noqa: PLC0415

    collection = config.get("signal.data.collection")
    if not collection:
        raise CommandError(f"The connector {name} has no signal.data.collection", "Create the table and set it, or use another channel.")
    # The last two parts: Debezium accepts the database before them.
    schema, table = split_name(collection)[-2:] if "." in collection else ("public", collection)
    place = quote_table(schema, table)
    if access.database is None:
        parsed, _ = parse(_resolved(name, config, access, ("database.",)))
        connection: Any = await connect(parsed, _PURPOSE)
    else:
        _check_database(access.database)
        try:
            connection = await psycopg.AsyncConnection.connect(access.database, autocommit=True, application_name=_PURPOSE)
        except psycopg.Error as problem:
            raise CommandError(f"The database does not let the signal in: {problem}", "Check --database.") from problem
    try:
        await connection.execute(f"INSERT INTO {place} VALUES (%s, %s, %s)", (own_id, kind, json.dumps(data or {})))
    except psycopg.Error as problem:
        raise source_error(problem, f"inserting the signal into {schema}.{table}") from problem
    finally:
        await connection.close()
    return Sent(own_id, "source", f"{schema}.{table}")


def _resolved(name: str, config: Mapping[str, str], access: Access, needed: tuple[str, ...]) -> dict[str, str]:
    file = access.worker
    return resolved(
        name,
        config,
        None if file is None else lambda: WorkerSettings.from_properties(worker_properties(file, current_environment())),
        needed,
        "Give --worker FILE (the worker's .properties, on a machine with its secrets), or --database DSN for the signal table, "
        "or add http to signal.enabled.channels.",
    )


def _check_database(dsn: str) -> None:
    from workers.spark.failure import JobError  # noqa: PLC0415
    from workers.spark.source.dsn import check_dsn  # noqa: PLC0415 (it imports psycopg)

    try:
        check_dsn("--database", dsn)
    except JobError as problem:
        raise CommandError(str(problem)) from None
    except UnicodeEncodeError:
        raise CommandError("--database is not UTF-8") from None


def with_access(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give the command the options of :class:`Access`, and the argument ``access``."""

    def collected(*, via: Way | None, worker: Path | None, database: str | None, **options: Any) -> Any:
        return command(access=Access(via, worker, database), **options)

    collected.__doc__ = command.__doc__
    collected.__name__ = command.__name__
    collected.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    options = (
        click.option(
            "--via", type=click.Choice(list(WAYS)), help="The channel. Default: the first that the connector's configuration opens."
        ),
        click.option("--worker", type=file, metavar="FILE", help="The worker's .properties, to resolve references to secrets."),
        click.option(
            "--database",
            metavar="DSN",
            envvar="UNDERSTUDY_DATABASE",
            show_envvar=True,
            help="The database of the signal table, in place of the connector's own login.",
        ),
    )
    for option in reversed(options):
        collected = option(collected)
    return collected
