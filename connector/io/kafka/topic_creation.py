"""Creates topics before their first record, according to ``topic.creation.*`` (KIP-158). Otherwise the broker may create them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    LeaderNotAvailableError,
    NodeNotReadyError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    for_code,
)

from connector.catalog.name_matcher import Matcher, NameMatcher
from connector.configdef.patterns import split_regexes
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.aiokafka_internals import topic_code, traffic
from connector.io.kafka.client import client_arguments
from connector.log import EventLog
from connector.meters.connection_meter import Traffic
from connector.ports import Backtracking, no_backtracking

LOG: Final = EventLog(__name__)

DEFAULT_GROUP: Final = "default"
_COUNTS: Final = ("partitions", "replication.factor")
_EXISTS: Final = frozenset({0, LeaderNotAvailableError.errno})
"""What the metadata of an existing topic say; one of its partitions may have no leader."""

_T = TypeVar("_T")


class TopicCreator:
    """Creates the topics of one connector.

    ``groups`` are the settings ``topic.creation.<group>.<setting>`` by group. Without a ``default`` group this class creates no topic
    (KIP-158); the broker creates topics itself if ``auto.create.topics.enable`` is on. A topic gets the settings of the first group (in the
    order of ``topic.creation.groups``) whose ``include`` matches and whose ``exclude`` does not. As in Kafka Connect, the default group
    provides only the numbers of partitions and replicas that this group does not set.
    """

    def __init__(
        self,
        admin: Mapping[str, str],
        groups: Mapping[str, Mapping[str, str]],
        topic_used: Any,
        *,
        enabled: bool = True,
        backtrack: Backtracking = no_backtracking,
    ) -> None:
        self._admin_properties = admin
        self._enabled = enabled and DEFAULT_GROUP in groups
        self._groups = [(_rule(name, settings, backtrack), settings) for name, settings in groups.items() if name != DEFAULT_GROUP]
        self._default = groups.get(DEFAULT_GROUP, {})
        self._topic_used = topic_used
        self._admin: AIOKafkaAdminClient | None = None

    async def start(self) -> None:
        """Connect the admin client, if topics may have to be created."""
        if self._enabled:
            self._admin = AIOKafkaAdminClient(**client_arguments(self._admin_properties))
            await self._admin.start()

    def traffic(self) -> dict[object, Traffic]:
        """The open connections, and what each has carried."""
        return traffic(self._admin)

    async def stop(self) -> None:
        """Disconnect."""
        if self._admin is not None:
            await self._admin.close()

    def used(self, topic: str) -> None:
        """Report that Kafka has records of ``topic``. Call it each time, because a user may have reset the active topics (KIP-558)."""
        self._topic_used(topic)

    async def ensure(self, topic: str) -> None:
        """Create ``topic`` if it does not exist and this class creates topics. Raises KafkaError, or CdcError if Kafka refuses.

        An existing topic requires no permission to create topics.
        """
        admin = self._admin
        if admin is None or await _twice(lambda: topic_code(admin, topic)) in _EXISTS:
            return
        settings = dict(self._default)
        for matches, own in self._groups:
            if matches(topic):
                settings = {key: settings[key] for key in _COUNTS if key in settings} | dict(own)
                break
        configs = {key: value for key, value in settings.items() if key not in (*_COUNTS, "include", "exclude")}
        partitions, replicas = int(settings.get("partitions", "1")), int(settings.get("replication.factor", "-1"))
        new = NewTopic(
            topic,
            num_partitions=partitions,
            replication_factor=replicas,
            # -1 leaves the number to the broker. aiokafka accepts -1 only with assignments, and assignments only with -1.
            replica_assignments={} if -1 in (partitions, replicas) else None,
            topic_configs=configs,
        )
        response = await _twice(lambda: admin.create_topics([new]))
        _name, code, *message = response.topic_errors[0]
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:
            if issubclass(error, KafkaError) and error.retriable:
                raise error(message[0] if message else "")
            if error in (TopicAuthorizationFailedError, ClusterAuthorizationFailedError):
                raise CdcError(
                    ErrorKind.SINK_PERMISSION,
                    f"Kafka does not let this principal create topic {topic}",
                    "Grant Create on it, or create it, or leave out topic.creation.*",
                    error.__name__,
                )
            raise CdcError(
                ErrorKind.SINK_REFUSED,
                f"Kafka does not create topic {topic} as topic.creation.* asks",
                "Correct topic.creation.default.partitions, .replication.factor or the topic's settings",
                f"{error.__name__}: {message[0] if message else ''}",
            )
        if not code:
            LOG.info("topic created", topic=topic, partitions=new.num_partitions)


async def _twice(ask: Callable[[], Awaitable[_T]]) -> _T:
    """Return the answer of ``ask``. A broker closes a connection with an expired login (KIP-368) at its next use; then ask over another."""
    try:
        return await ask()
    except (KafkaConnectionError, NodeNotReadyError):
        return await ask()


def _rule(group: str, settings: Mapping[str, str], backtrack: Backtracking) -> Matcher:
    def listed(side: str) -> NameMatcher:
        patterns = split_regexes(settings.get(side, ""))
        return NameMatcher(patterns, f"topic.creation.{group}.{side}", ignore_case=False, backtrack=backtrack)

    include, exclude = listed("include"), listed("exclude")
    return lambda topic: include(topic) and not exclude(topic)
