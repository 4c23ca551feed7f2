"""The properties of a connector's Kafka clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """The properties of a connector's Kafka clients, under Kafka's own names. Overrides are already applied.

    ``producer`` holds e.g. ``bootstrap.servers``, ``compression.type``, ``security.protocol``, ``linger.ms``.
    ``topic_creation`` says whether the worker may create topics (``topic.creation.enable``).
    """

    producer: Mapping[str, str]
    admin: Mapping[str, str]
    topic_creation: bool = True
