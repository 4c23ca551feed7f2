"""Sends notifications to the channels that the configuration enables (``notification.enabled.channels``)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable
from typing import Final

from connector.config import ConnectorConfig
from connector.errors import CdcError
from connector.io.kafka_sink import KafkaSink
from connector.notification_channel import NotificationChannel
from connector.notification_records import NotificationEncoder
from connector.notifications import IncrementalNotifications, InitialNotifications, Notification, former_notification
from connector.ports import TaskContext
from connector.record_batch import NO_HEADERS
from connector.spi import configure, load
from connector.user_code import let_operator_through

_log = logging.getLogger(__name__)

_LAST_S: Final = 0.5

Channel = Callable[[Notification], None]


class Notifier:
    """One task's notifications: ``notifier.send(notifier.incremental.started(signal_id, tables))``.

    ``initial`` and ``incremental`` make them. :meth:`send` costs nothing while no channel is enabled.
    """

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        sink: KafkaSink,
        *,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.initial = InitialNotifications(config.topic_prefix, new_id, now_ms)
        self._former = config.version < (3,)
        self.incremental = IncrementalNotifications(config.topic_prefix, new_id, now_ms, self._former)
        self._context = context
        self._config = config
        self._sink = sink
        self._encoder = NotificationEncoder(context.key_converter, context.value_converter, former=self._former)
        self._topic = config.notification_sink_topic_name or ""
        found = (self._channel(name) for name in config.notification_enabled_channels)
        self._channels: list[Channel] = [channel for channel in found if channel is not None]

    def send(self, notification: Notification) -> None:
        """Give it to every enabled channel. Raises what an earlier batch of the sink failed with."""
        told = former_notification(notification) if self._former else notification
        if told is not None:
            for channel in self._channels:
                channel(told)

    async def send_last(self, notification: Notification) -> None:
        """Give it to every channel when the task is about to end: what the sink has waits for its acknowledgement, but not for long."""
        with contextlib.suppress(CdcError, TimeoutError):
            self.send(notification)
            if self._to_sink in self._channels:
                await asyncio.wait_for(self._sink.drained(), _LAST_S)

    def _channel(self, name: str) -> Channel | None:
        match name:
            case "sink":
                return self._to_sink
            case "log":
                return _to_log
            case "jmx" | "sse":
                return self._context.notify
            case _ if ":" in name:
                return self._custom(name)
            case _:
                try:
                    return self._custom(name)
                except CdcError as problem:
                    # As in the reference, which passes over a channel that it does not have.
                    _log.warning("notification channel not found, it has no effect channel=%s reason=%s", name, problem)
                    return None

    def _custom(self, name: str) -> Channel:
        setting, allowed = "notification.enabled.channels", self._context.plugins
        custom = load("notification_channels", name, NotificationChannel, setting=setting, allowed=allowed)  # type: ignore[type-abstract]
        configure(custom.configure, self._config.raw, f"Notification channel {name}")

        def send(notification: Notification) -> None:
            try:
                custom.send(notification)
            except BaseException as problem:  # noqa: BLE001 (a user's class may raise anything)
                let_operator_through(problem)
                _log.warning("notification channel failed channel=%s error=%s", name, type(problem).__name__)

        return send

    def _to_sink(self, notification: Notification) -> None:
        key, prefix, payload = self._encoder.record(notification)
        self._sink.out(self._topic, apart=True).append(key, prefix, payload, NO_HEADERS, notification.timestamp)
        self._sink.pump()


def _to_log(notification: Notification) -> None:
    _log.info(
        "notification aggregate=%s type=%s id=%s data=%s",
        notification.aggregate_type,
        notification.type,
        notification.id,
        dict(notification.additional_data or {}),
    )
