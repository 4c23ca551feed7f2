"""The settings of metrics: the table ``[metrics]`` of a mirror's configuration. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from workers.spark.failure import WRONG, JobError

_SECONDS: Final = {"seconds": 1, "minutes": 60, "hours": 3600}


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """``[metrics]``. Without the table nothing is served."""

    port: int
    address: str = "127.0.0.1"
    """The address that the server listens on. By default only programs on the same machine reach it."""
    healthy_within: str = "5 minutes"
    """How long a batch, or unread records without a batch, may take while ``/health`` answers 200."""

    @property
    def seconds(self) -> float:
        """``healthy_within`` in seconds. Raises JobError."""
        found = re.fullmatch(r"(\d+) (\w+)", self.healthy_within)
        if found is None or found[2] not in _SECONDS or int(found[1]) < 1:
            raise JobError(WRONG, f'metrics.healthy_within is {self.healthy_within!r}. Use an interval such as "5 minutes".')
        return float(int(found[1]) * _SECONDS[found[2]])


def check_metrics(config: MetricsConfig | None) -> None:
    """Raise JobError that names the wrong key and the remedy."""
    if config is None:
        return
    if not 0 < config.port < 65536:
        raise JobError(WRONG, f"metrics.port is {config.port}. Use a port from 1 to 65535.")
    if config.seconds and not config.address:
        raise JobError(WRONG, 'metrics.address is empty. Use an address of this machine, or "0.0.0.0" for all.')
