"""Where Kafka is, and how this command logs in there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from workers.settings.worker_settings import WorkerSettings, current_environment, worker_properties

DEFAULT: Final = "localhost:9092"


def client_properties(bootstrap: str | None, worker: Path | None) -> dict[str, str]:
    """The properties of a Kafka client: those of the worker's file, if any, and ``bootstrap``. Raises SettingsError."""
    found: Mapping[str, str] = {}
    if worker is not None:
        settings = WorkerSettings.from_properties(worker_properties(worker, current_environment()))
        found = {**settings.properties, "bootstrap.servers": settings.bootstrap_servers}
    return {**found, **({"bootstrap.servers": bootstrap} if bootstrap else {} if worker is not None else {"bootstrap.servers": DEFAULT})}


async def topic_partitions(arguments: Mapping[str, Any], wanted: Callable[[str], bool]) -> dict[str, Sequence[int]]:
    """The existing topics for whose names ``wanted`` holds, each with its partitions. ``arguments`` are aiokafka's.

    Raises KafkaError.
    """
    from aiokafka.admin import AIOKafkaAdminClient  # noqa: PLC0415

    admin = AIOKafkaAdminClient(**arguments)
    try:
        await admin.start()
        # A description of a topic that does not exist could create it.
        names = [name for name in await admin.list_topics() if wanted(name)]
        described = await admin.describe_topics(names) if names else []
        return {each["topic"]: sorted(part["partition"] for part in each["partitions"]) for each in described}
    finally:
        await admin.close()


def with_kafka(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give the command the options ``--bootstrap`` and ``--worker``, and the argument ``kafka``: properties of a client."""

    def collected(*, bootstrap: str | None, worker: Path | None, **options: Any) -> Any:
        return command(kafka=client_properties(bootstrap, worker), **options)

    collected.__doc__ = command.__doc__
    collected.__name__ = command.__name__
    collected.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    options = (
        click.option(
            "--bootstrap",
            metavar="HOST:PORT",
            envvar="UNDERSTUDY_BOOTSTRAP",
            show_envvar=True,
            help=f"Kafka. Default: that of --worker, else {DEFAULT}.",
        ),
        click.option("--worker", type=file, metavar="FILE", help="A worker's .properties: Kafka's address, TLS and login."),
    )
    for option in reversed(options):
        collected = option(collected)
    return collected
