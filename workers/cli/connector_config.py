"""A connector's configuration as its worker reads it: references resolved, and properties under their present names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from workers.cli.failure import CommandError
from workers.settings.worker_settings import WorkerSettings

PREFIX: Final = ("topic.prefix", "database.server.name")
"""The property that names the connector's topics, and its former name."""


def resolved(
    name: str, config: Mapping[str, str], worker: Callable[[], WorkerSettings] | None, needed: tuple[str, ...], remedy: str
) -> dict[str, str]:
    """Return the configuration of the connector ``name``; ``worker`` is asked for its providers if there are references.

    Raises CommandError with ``remedy`` if a property whose name begins with one of ``needed`` still has a reference.
    """
    from connector.config.validation import rename  # noqa: PLC0415 (it imports the tables of all properties)

    found = dict(config)
    if worker is not None and any("${" in value for value in found.values()):
        found = worker().secrets.resolve(found)
    left = sorted(key for key, value in found.items() if key.startswith(needed) and "${" in value)
    if left:
        raise CommandError(f"The connector {name} has references in {', '.join(left)}, which only its worker can resolve", remedy)
    # Not before: a former name whose value is no valid one of the present property is dropped.
    return {key: value for key, value in rename(found).settings.items() if value is not None}
