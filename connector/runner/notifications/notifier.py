"""Sends notifications to the channels that the configuration enables (``notification.enabled.channels``)."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Final

from connector.config.connector_config import ConnectorConfig
from connector.delivery.sink import Sink
from connector.errors import CdcError
from connector.io.http_post import post
from connector.log import EventLog
from connector.notifications.custom_channel import NotificationChannel
from connector.notifications.notification import RESOLVED, IncrementalNotifications, InitialNotifications, Notification, result_only
from connector.notifications.records import NotificationEncoder
from connector.plugins.loading import configure, load
from connector.plugins.user_code import let_operator_through
from connector.record.batch import NO_HEADERS
from connector.runner.context import TaskContext
from connector.runner.notifications.http_notifications import HttpChannel, HttpTarget

LOG: Final = EventLog(__name__)

_LAST_S: Final = 0.5

Channel = Callable[[Notification], None]


class Notifier:
    """Sends one task's notifications: ``notifier.send(notifier.incremental.started(signal_id, tables))``.

    ``initial`` and ``incremental`` create them. :meth:`send` has no cost if no channel is enabled.
    """

    def __init__(
        self,
        context: TaskContext,
        config: ConnectorConfig,
        sink: Sink,
        *,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.initial = InitialNotifications(config.topic_prefix, new_id, now_ms)
        self._emulation = config.emulation
        self.incremental = IncrementalNotifications(config.topic_prefix, new_id, now_ms, config.emulation)
        self._context = context
        self._config = config
        self._sink = sink
        self._encoder = NotificationEncoder(context.key_converter, context.value_converter, config.emulation)
        self._topic = config.notification_sink_topic_name or ""
        self._http: HttpChannel | None = None
        found = (self._channel(name) for name in config.notification_enabled_channels)
        self._channels: list[Channel] = [channel for channel in found if channel is not None]

    def send(self, notification: Notification) -> None:
        """Pass a notification to every enabled channel. Raises the failure of an earlier batch of the sink."""
        sent = notification if self._emulation.notifies_snapshot_steps else result_only(notification)
        if notification.type == RESOLVED and not self._emulation.notifies_resolved_tables:
            return
        if sent is not None:
            for channel in self._channels:
                channel(sent)

    async def send_last(self, notification: Notification) -> None:
        """Pass a notification to every channel when the task is about to end. Wait briefly for Kafka's acknowledgement."""
        with contextlib.suppress(CdcError, TimeoutError):
            self.send(notification)
            if self._to_sink in self._channels:
                await asyncio.wait_for(self._sink.drained(), _LAST_S)
            if self._http is not None:
                await asyncio.wait_for(self._http.delivered(), _LAST_S)

    async def close(self) -> None:
        """End the delivery of what is queued. Wait briefly for it."""
        if self._http is not None:
            await self._http.close(_LAST_S)

    def _channel(self, name: str) -> Channel | None:
        match name:
            case "sink":
                return self._to_sink
            case "log":
                return _to_log
            case "http":
                return self._over_http()
            case "jmx" | "sse":
                return self._context.notify
            case _ if ":" in name:
                return self._custom(name)
            case _:
                try:
                    return self._custom(name)
                except CdcError as problem:
                    # Debezium ignores an unknown channel too.
                    LOG.warning("notification channel not found, it has no effect", channel=name, reason=problem)
                    return None

    def _over_http(self) -> Channel | None:
        config = self._config
        if not config.notification_http_url:
            LOG.warning("notification channel has no address, it has no effect", channel="http", property="notification.http.url")
            return None
        target = HttpTarget(
            config.notification_http_url,
            config.notification_http_timeout_ms / 1000,
            config.notification_http_retries,
            private=config.notification_http_allow_private_networks,
        )
        self._http = HttpChannel(target, partial(post, target.url, limit=target.timeout, private=target.private))
        return self._http.send

    def _custom(self, name: str) -> Channel:
        setting, allowed = "notification.enabled.channels", self._context.plugins
        custom = load("notification_channels", name, NotificationChannel, setting=setting, allowed=allowed)  # type: ignore[type-abstract]
        configure(custom.configure, self._config.raw, f"Notification channel {name}")

        def send(notification: Notification) -> None:
            try:
                custom.send(notification)
            except BaseException as problem:  # noqa: BLE001 (a user's class may raise anything)
                let_operator_through(problem)
                LOG.warning("notification channel failed", channel=name, error=type(problem).__name__)

        return send

    def _to_sink(self, notification: Notification) -> None:
        key, prefix, payload = self._encoder.record(notification)
        self._sink.out(self._topic, apart=True).append(key, prefix, payload, NO_HEADERS, notification.timestamp)
        self._sink.pump()


def _to_log(notification: Notification) -> None:
    LOG.info(
        "notification",
        aggregate=notification.aggregate_type,
        type=notification.type,
        id=notification.id,
        data=dict(notification.additional_data or {}),
    )
