"""Delivers a signal from the REST interface to the running task."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Final

from connect_api.herder import HerderError, SignalRequest
from connector.signals.signal import Signal, SignalError, read_signal

_ENABLED: Final = "signal.enabled.channels"
_ACTIONS: Final = "signal.actions"
PROPERTIES: Final = (_ENABLED, _ACTIONS)
"""The properties that :func:`deliver` needs."""
CHANNELS: Final = ("jmx", "http")
"""The names in ``signal.enabled.channels`` that enable signals by REST."""


def deliver(name: str, config: Mapping[str, str], request: SignalRequest, offer: Callable[[Signal], bool]) -> str:
    """Deliver the signal to the task and return its id, a new one when it has none.

    ``config`` has at least those of :data:`PROPERTIES` that are set, with their references resolved. Raises HerderError: 400 for a signal
    that the task would refuse, 409 when the channel is not enabled or the task does not accept signals now.
    """
    enabled = [channel.strip() for channel in config.get(_ENABLED, "source").split(",")]
    channel = next((channel for channel in enabled if channel in CHANNELS), None)
    if channel is None:
        raise HerderError(
            409,
            f"Connector {name} does not accept signals by REST. Add http to its signal.enabled.channels and send the signal again.",
        )
    signal = Signal(request.id or str(uuid.uuid4()), request.type, request.data, channel)
    # Only the task knows which types the user's classes handle.
    custom = frozenset({request.type}) if config.get(_ACTIONS, "").strip() else frozenset[str]()
    try:
        read_signal(signal, custom)
    except SignalError as refusal:
        raise HerderError(400, f"The signal is not valid: {refusal}") from refusal
    if not offer(signal):
        raise HerderError(
            409,
            f"Connector {name} does not accept signals now, because its task does not stream. See its status and send it again.",
        )
    return signal.id
