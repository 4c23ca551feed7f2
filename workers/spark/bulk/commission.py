"""What a worker and the process that reads a snapshot with Spark for it say to each other, beside :data:`connector.bulk.BulkTold`.

They have a socket pair that nobody else has, and speak over it as :mod:`connector.runner.snapshot_pipe` does: the plan holds the
connector's configuration with its passwords, which must not show in arguments or the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connector.bulk import BulkPlan


@dataclass(frozen=True, slots=True)
class SparkPlace:
    """Where Spark runs: its master URL and its settings (``spark.*``)."""

    master: str = "local[*]"
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commission:
    """Read this; sent once. The end of the socket tells to end."""

    place: SparkPlace
    plan: BulkPlan


@dataclass(frozen=True, slots=True)
class Finished:
    """Kafka has every row."""
