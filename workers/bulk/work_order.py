"""The messages between a worker and its process that reads a snapshot with Spark, besides :data:`connector.snapshot.bulk.BulkReport`.

They are sent over a private socket pair in the format of :mod:`connector.runner.child.pipe`. The plan contains the connector's
configuration with its passwords, which must not appear in arguments or the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connector.snapshot.bulk import BulkPlan


@dataclass(frozen=True, slots=True)
class SparkPlace:
    """The place where Spark runs: its master URL and its settings (``spark.*``)."""

    master: str = "local[*]"
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commission:
    """The request to read a snapshot. It is sent once. When the socket closes, the process ends."""

    place: SparkPlace
    plan: BulkPlan


@dataclass(frozen=True, slots=True)
class Finished:
    """Kafka has every row."""
