"""What a cluster of Kafka Connect has stored in its three internal topics, read once and without a trace in Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workers.cli.failure import CommandError
from workers.settings.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from workers.stores.topic_log import TopicLog

Offsets = Sequence[tuple[Mapping[str, object], Mapping[str, object]]]


@dataclass(frozen=True, slots=True)
class StoredConnector:
    """A connector as the topics hold it: configuration, wanted state, actual states, offsets and topics in use."""

    name: str
    config: Mapping[str, str] = field(repr=False)
    target: str = "STARTED"
    states: Sequence[str] = ()
    """The connector's own state, then those of its tasks."""
    offsets: Offsets = ()
    topics: Sequence[str] = ()

    def offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        """The offset that is stored for ``partition``."""
        return next((offset for stored, offset in self.offsets if dict(stored) == dict(partition)), None)


async def read_cluster(settings: WorkerSettings) -> list[StoredConnector]:
    """Read the topics that ``settings`` name. Creates no topic, joins no group and writes nothing.

    Raises CdcError if Kafka cannot be read, CommandError if the config topic does not exist.
    """
    from workers.stores.topic_log import Cluster, KafkaLog  # noqa: PLC0415

    cluster = Cluster({**settings.properties, "bootstrap.servers": settings.bootstrap_servers})
    topics = (settings.config_topic, settings.offset_topic, settings.status_topic)
    missing = await cluster.look([topic.name for topic in topics])
    if settings.config_topic.name in missing:
        raise CommandError(
            f"The topic {settings.config_topic.name} does not exist at {settings.bootstrap_servers}",
            "Check bootstrap.servers and config.storage.topic: they must be those of the cluster's own workers.",
        )
    logs = [None if topic.name in missing else KafkaLog(cluster, topic) for topic in topics]
    return await read_stores(*logs)


async def read_stores(config_log: TopicLog | None, offset_log: TopicLog | None, status_log: TopicLog | None) -> list[StoredConnector]:
    """The connectors in these topics, by name. None stands for a topic that does not exist."""
    from workers.stores.config_store import ConfigStore  # noqa: PLC0415
    from workers.stores.memory import MemoryLog  # noqa: PLC0415
    from workers.stores.offset_store import AllOffsets  # noqa: PLC0415
    from workers.stores.status_store import StatusStore  # noqa: PLC0415

    configs = ConfigStore(config_log or MemoryLog(), lambda _change: None)
    offsets = AllOffsets(offset_log or MemoryLog())
    states = StatusStore(status_log or MemoryLog())
    stores = (configs, offsets, states)
    try:
        await asyncio.gather(*(store.start() for store in stores))
        return [
            _stored(name, configs.config(name) or {}, configs.target(name), offsets.of(name), states) for name in sorted(configs.names())
        ]
    finally:
        await asyncio.gather(*(store.stop() for store in stores))


def _stored(name: str, config: Mapping[str, str], target: str, offsets: Offsets, states: object) -> StoredConnector:
    from workers.stores.status_store import StatusStore  # noqa: PLC0415

    assert isinstance(states, StatusStore)  # noqa: S101 (for mypy)
    own = states.connector(name)
    found = [*([own.state] if own else []), *(entry.state for _, entry in sorted(states.tasks(name).items()))]
    return StoredConnector(name, config, target, found, offsets, sorted(states.topics(name)))
