"""The job that a connector's task is to OpenLineage: its name, and what the configuration says about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from connector.config.connector_config import ConnectorConfig

_MASK: Final = "********"
_SECRET: Final = re.compile(
    r".*secret$|.*password$|.*sasl\.jaas\.config$|.*basic\.auth\.user\.info|.*registry\.auth\.client-secret"
    r"|.*credentials\.json$|.*connectionstring$|.*connection\.string$",
    re.IGNORECASE,
)
"""Properties whose values no event shows: the default of ``custom.sanitize.pattern``."""
_TASK_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnectorTask"


@dataclass(frozen=True, slots=True)
class LineageJob:
    """A task as OpenLineage names it. ``configs`` are the lines ``name=value`` of its configuration, with secrets masked."""

    namespace: str
    name: str
    description: str
    version: str
    """The emulated version of the connector."""
    tags: tuple[tuple[str, str], ...]
    owners: tuple[tuple[str, str], ...]
    configs: tuple[str, ...]

    @classmethod
    def of(cls, config: ConnectorConfig, given: Mapping[str, str], task_id: int, secrets: Iterable[str] = ()) -> LineageJob:
        """Return the job of a task. ``given`` is the configuration as it was saved, with references instead of what they stand for.

        ``secrets`` are names of further properties to mask.
        """
        prefix, masked = config.topic_prefix, frozenset(secrets)
        shown = {**given, "task.class": _TASK_CLASS}
        return cls(
            namespace=config.openlineage_integration_job_namespace or prefix,
            name=f"{prefix}.{task_id}",
            description=_description(config, given),
            version=config.emulation.version,
            tags=_pairs(config.openlineage_integration_job_tags),
            owners=_pairs(config.openlineage_integration_job_owners),
            configs=tuple(f"{key}={_MASK if key in masked or _SECRET.fullmatch(key) else text}" for key, text in sorted(shown.items())),
        )


def _description(config: ConnectorConfig, given: Mapping[str, str]) -> str:
    # As recorded, the property's listed default is not what an event says without it.
    own = given.get("openlineage.integration.job.description", "")
    return config.openlineage_integration_job_description if own.strip() else f"Debezium CDC job for {config.topic_prefix}"


def _pairs(entries: Iterable[str]) -> tuple[tuple[str, str], ...]:
    found = (entry.partition("=") for entry in entries)
    return tuple((name.strip(), text.strip()) for name, sep, text in found if sep)
