"""MBeans ``app-info``: the emulated version of Kafka and the start of the worker and its clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from workers.telemetry.mbean import Attribute, MBean

MEANINGS: Final = {
    "version": ("exact", "the emulated version of Kafka"),
    "commit-id": ("exact", "its commit"),
    "start-time-ms": ("nearest", "when the worker started, ms since 1970, also for its clients"),
}
_FORMER: Final = {"version": "Version", "commit-id": "CommitId", "start-time-ms": "StartTimeMs"}
"""The attributes of the older form of the MBean, whose name has ``id`` in the place of ``client-id``."""


def app_info_beans(domain: str, clients: Iterable[str | None], version: str, commit: str, started_ms: int) -> Iterator[MBean]:
    """Yield the MBeans of clients, in both forms. The client None is the worker itself. Ids are written as in an MBean's name."""
    values: dict[str, Attribute] = {"version": version, "commit-id": commit, "start-time-ms": started_ms}
    for client in clients:
        if client is None:
            yield MBean(domain, (("type", "app-info"),), values)
        else:
            yield MBean(domain, (("type", "app-info"), ("client-id", client)), values)
            yield MBean(domain, (("type", "app-info"), ("id", client)), {_FORMER[name]: value for name, value in values.items()})
