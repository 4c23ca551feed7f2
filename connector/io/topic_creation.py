"""Topics are made when their first record comes: by ``topic.creation.*`` (KIP-158), else by the broker's own auto-creation."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaConnectionError, KafkaError, TopicAlreadyExistsError, for_code

from connector.config_keys.patterns import split_regexes
from connector.errors import CdcError, ErrorKind
from connector.io.kafka_client import client_arguments
from connector.name_matcher import Matcher, NameMatcher
from connector.ports import Backtracking, no_backtracking

_log = logging.getLogger(__name__)

DEFAULT_GROUP: Final = "default"
_COUNTS: Final = ("partitions", "replication.factor")


class TopicCreator:
    """Makes the topics of one connector.

    ``groups`` is ``topic.creation.<group>.<setting>`` by group; without a ``default`` group nothing is made here (KIP-158),
    and the broker makes topics by itself when ``auto.create.topics.enable`` is on. Each topic takes the settings of the first group
    (in the order of ``topic.creation.groups``) whose ``include`` matches and ``exclude`` does not; from the default group it has
    only what it does not say of partitions and replicas, as in the reference.
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
        """Connect the admin client, if it will be needed."""
        if self._enabled:
            self._admin = AIOKafkaAdminClient(**client_arguments(self._admin_properties))
            await self._admin.start()

    async def stop(self) -> None:
        """Disconnect."""
        if self._admin is not None:
            await self._admin.close()

    def used(self, topic: str) -> None:
        """Records of ``topic`` have arrived: told each time, for somebody may have forgotten it meanwhile (KIP-558)."""
        self._topic_used(topic)

    async def ensure(self, topic: str) -> None:
        """See to it that ``topic`` exists, as far as it is ours to make. Raises KafkaError, or CdcError for a refusal."""
        if self._admin is None:
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
            # aiokafka takes -1, which leaves the count to the broker, with assignments only, and refuses them without it.
            replica_assignments={} if -1 in (partitions, replicas) else None,
            topic_configs=configs,
        )
        try:
            response = await self._admin.create_topics([new])
        except KafkaConnectionError:
            # Brokers cut a connection whose login has run out (KIP-368) when it is used the next time; another one is made then.
            response = await self._admin.create_topics([new])
        _name, code, *message = response.topic_errors[0]
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:
            if issubclass(error, KafkaError) and error.retriable:
                raise error(message[0] if message else "")
            raise CdcError(
                ErrorKind.SINK_REFUSED,
                f"Kafka does not create topic {topic} as topic.creation.* asks",
                "Correct topic.creation.default.partitions, .replication.factor or the topic's settings",
                f"{error.__name__}: {message[0] if message else ''}",
            )
        if not code:
            _log.info("topic created topic=%s partitions=%s", topic, new.num_partitions)


def _rule(group: str, settings: Mapping[str, str], backtrack: Backtracking) -> Matcher:
    def listed(side: str) -> NameMatcher:
        patterns = split_regexes(settings.get(side, ""))
        return NameMatcher(patterns, f"topic.creation.{group}.{side}", ignore_case=False, backtrack=backtrack)

    include, exclude = listed("include"), listed("exclude")
    return lambda topic: include(topic) and not exclude(topic)
