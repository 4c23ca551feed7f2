"""The settings of maintenance: the table ``[maintain]`` of a mirror's configuration. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from workers.spark.failure import WRONG, JobError

_SECONDS: Final = {"minutes": 60, "hours": 3600, "days": 86400}
_BYTES: Final = {"KB": 1024, "MB": 1024**2, "GB": 1024**3}
LEAST_RETENTION: Final = 24 * 3600
"""The least retention in seconds. A batch that is being written has files that no commit names yet: these must not be removed."""


@dataclass(frozen=True, slots=True)
class MaintainConfig:
    """``[maintain]``. Without ``interval`` a running mirror does not maintain its tables; the command still does."""

    interval: str | None = None
    """How often a running mirror maintains each table, such as ``6 hours``."""
    file_size: str = "128 MB"
    """The size of the files that compaction writes. Files of less than three quarters of it are small."""
    retention: str = "7 days"
    """How long files and snapshots stay that are no longer part of the table."""
    cluster: bool = False
    """Sort the rows by the key when small files are compacted, if the table then has more than one file."""

    @property
    def seconds(self) -> int | None:
        """``interval`` in seconds."""
        return None if self.interval is None else _number("interval", self.interval, _SECONDS)

    @property
    def bytes(self) -> int:
        """``file_size`` in bytes."""
        return _number("file_size", self.file_size, _BYTES)

    @property
    def kept_seconds(self) -> int:
        """``retention`` in seconds."""
        return _number("retention", self.retention, _SECONDS)


def check_maintain(config: MaintainConfig, sink_format: str) -> None:
    """Raise JobError that names the wrong key and the remedy."""
    if config.seconds is not None and sink_format not in ("delta", "iceberg"):
        raise JobError(WRONG, f"maintain.interval is set, but tables of the format {sink_format} need no maintenance. Remove it.")
    if config.bytes < _BYTES["MB"]:
        raise JobError(WRONG, f"maintain.file_size is {config.file_size!r}. Use 1 MB or more.")
    if config.kept_seconds < LEAST_RETENTION:
        raise JobError(
            WRONG,
            f"maintain.retention is {config.retention!r}. Use 24 hours or more: files that a batch is writing look unused.",
        )


def _number(key: str, text: str, units: dict[str, int]) -> int:
    found = re.fullmatch(rf"([1-9]\d{{0,8}}) ({'|'.join(units)})", text)
    if found is None:
        raise JobError(
            WRONG, f'maintain.{key} is {text!r}. Write a number and a unit ({", ".join(units)}), such as "6 {next(iter(units))}".'
        )
    return int(found[1]) * units[found[2]]
