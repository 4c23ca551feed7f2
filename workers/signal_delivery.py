"""A signal that came by REST, on its way to the running task."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Final

from connect_api.herder import HerderError, SignalRequest
from connector.signals import Signal, SignalError, read_signal

CHANNELS: Final = ("jmx", "http")
"""Names in ``signal.enabled.channels`` that let signals come by REST."""


def deliver(name: str, config: Mapping[str, str], request: SignalRequest, offer: Callable[[Signal], bool]) -> str:
    """Hand the signal over to the task and answer its id, a new one when it has none.

    ``config`` has its references resolved. Raises HerderError: 400 for a signal that the task would refuse, 409 when the channel
    is not enabled, or when the task takes no signals now.
    """
    enabled = [channel.strip() for channel in config.get("signal.enabled.channels", "source").split(",")]
    channel = next((channel for channel in enabled if channel in CHANNELS), None)
    if channel is None:
        raise HerderError(
            409, f"Connector {name} takes no signals by REST. Add http to its property signal.enabled.channels and send the signal again."
        )
    signal = Signal(request.id or str(uuid.uuid4()), request.type, request.data, channel)
    # Which types classes of the user's perform, only the task knows.
    custom = frozenset({request.type}) if config.get("signal.actions", "").strip() else frozenset[str]()
    try:
        read_signal(signal, custom)
    except SignalError as refusal:
        raise HerderError(400, f"The signal cannot be obeyed: {refusal}") from refusal
    if not offer(signal):
        raise HerderError(
            409, f"Connector {name} takes no signals now, for its task does not stream. See its status, and send the signal again."
        )
    return signal.id
