"""The properties that a worker cannot do without. Kafka Connect has no defaults for them either.

A default would hide a misspelt key: the worker would join another group and run its connectors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from workers.settings.worker_settings import SettingsError, WorkerSettings

REQUIRED: Final = (
    "group.id",
    "config.storage.topic",
    "offset.storage.topic",
    "status.storage.topic",
    "key.converter",
    "value.converter",
)


def require_all(settings: WorkerSettings, file: Path | None) -> WorkerSettings:
    """Return ``settings``, which were read from ``file``, or from the environment when it is None.

    Raises SettingsError that names every property of :data:`REQUIRED` which is missing or blank.
    """
    missing = [key for key in REQUIRED if not settings.properties.get(key, "").strip()]
    if not missing:
        return settings
    named = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing and {'has' if len(missing) == 1 else 'have'} no default"
    unknown = f" These properties are unknown: {', '.join(settings.unknown)}." if settings.unknown else ""
    if file is not None:
        raise SettingsError(f"{named}. Set {'it' if len(missing) == 1 else 'them'} in {file}.{unknown}")
    variables = ", ".join(f"CONNECT_{key.upper().replace('.', '_')}" for key in missing)
    raise SettingsError(f"{named}. Set {variables}, or give the worker a file: understudy worker FILE.{unknown}")
