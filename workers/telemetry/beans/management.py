"""Debezium's MBeans of the channels ``jmx``: the operation ``signal``, and the kept notifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workers.telemetry.beans.debezium import DOMAIN
from workers.telemetry.mbean import Attribute, MBean, Operation

_STRING = "java.lang.String"
SendSignal = Callable[[str | None, str | None, str | None], None]
"""``send(id, type, data)``. May raise :class:`workers.telemetry.mbean.OperationError`."""


def _keys(context: str, server: str) -> tuple[tuple[str, str], ...]:
    # Unlike the names of metrics, Debezium does not quote the value of these.
    return (("type", "management"), ("context", context), ("server", server))


def signals_bean(server: str, send: SendSignal) -> MBean:
    """Return the MBean of the signal channel, which has no attribute."""
    return MBean(DOMAIN, _keys("signals", server), {}, (Operation("signal", (_STRING, _STRING, _STRING), send),))


def notifications_bean(server: str, notes: Sequence[Mapping[str, Attribute]], clear: Callable[[], None]) -> MBean:
    """Return the MBean of the notification channel. Its operation ``reset`` removes what is kept."""
    return MBean(DOMAIN, _keys("notifications", server), {"Notifications": list(notes)}, (Operation("reset", (), clear),))
