"""Brings signals from the enabled channels to the task (``signal.enabled.channels``); the signal table is read by the stream itself."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Final, cast

from connector.config import ConnectorConfig
from connector.config_families import prefixed
from connector.errors import CdcError
from connector.io.signal_file import SETTING, NotSignalsError, SignalFile
from connector.io.signal_topic import SignalTopic
from connector.ports import TaskContext
from connector.runner.user_code import end_if_cancelled
from connector.signal_channel import SignalChannel
from connector.signal_records import read_line, read_record
from connector.signals import Signal, SignalError
from connector.spi import configure, load

_log = logging.getLogger(__name__)

BEHIND_REST: Final = ("jmx", "http")
"""Names under which signals by REST are enabled: Debezium's for its channel to operators, and what it is here."""

_WORKED_S: Final = 60.0

Put = Callable[[Signal], None]
Listen = Callable[[], Awaitable[None]]


class SignalChannels:
    """The channels of one task but ``source``. ``put`` takes each signal at once, on the event loop; it must not wait.

    A Python class (``package.module:Class``) that cannot be loaded, and settings of the Kafka consumer that cannot be used, raise
    CdcError(CONFIG_INVALID) when this is made. Any other channel that is not there has no effect, and the log names it.
    """

    def __init__(self, context: TaskContext, config: ConnectorConfig, put: Put) -> None:
        self._context = context
        self._config = config
        self._put = put
        self._pause_s = config.signal_poll_interval_ms / 1000
        self._listeners: dict[str, Listen] = {}
        for name in config.signal_enabled_channels:
            if name == "kafka":
                self._listeners[name] = partial(self._read_topic, self._topic())
            elif name == "file":
                self._file(SignalFile(config.signal_file, context.signal_directory))
            elif name not in ("source", *BEHIND_REST):
                try:
                    self._listeners[name] = self._custom(name)
                except CdcError as problem:
                    if ":" in name:
                        raise
                    # The reference passes over a channel that it does not have, such as a Java class that is not installed.
                    _log.warning("signal channel not found, it has no effect channel=%s reason=%s", name, problem)

    async def start(self, stack: AsyncExitStack) -> None:
        """Open the channels; the stack closes them. A channel that fails warns and tries again."""
        tasks = [asyncio.create_task(self._keep(name, listen), name=f"signals {name}") for name, listen in self._listeners.items()]

        async def end() -> None:
            self._context.signals.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        stack.push_async_callback(end)
        for name in self._config.signal_enabled_channels:
            if name in BEHIND_REST:
                self._context.signals.open(name, self._put)

    async def _keep(self, name: str, listen: Listen) -> None:
        told, loop = "", asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                await listen()
                reason = "it ended"
            except BaseException as problem:  # noqa: BLE001 (a user's class may raise anything)
                end_if_cancelled(problem)
                # Names and codes only: the text of a foreign exception may hold what was read.
                reason = str(problem) if isinstance(problem, CdcError) else _told(problem)
            # The same again and again is told once, until the channel has worked for a while.
            if reason != told or loop.time() - begun > _WORKED_S:
                told = reason
                _log.warning("signal channel broken, trying again channel=%s seconds=%.1f reason=%s", name, self._pause_s, reason)
            await asyncio.sleep(self._pause_s)

    def _topic(self) -> SignalTopic:
        config = self._config
        topic = config.signal_kafka_topic or f"{config.topic_prefix}-signal"
        properties = {
            **prefixed(config.raw, "signal.consumer."),
            "bootstrap.servers": config.signal_kafka_bootstrap_servers or "",
            "group.id": config.signal_kafka_group_id,
        }
        return SignalTopic(topic, properties, self._pause_s)

    async def _read_topic(self, topic: SignalTopic) -> None:
        async with aclosing(topic.records()) as bursts:
            async for records in bursts:
                for key, value, offset in records:
                    try:
                        signal = read_record(key, value, self._config.topic_prefix, offset, _new_id)
                    except Exception as problem:  # noqa: BLE001 (no record may take those that came with it along)
                        reason = problem if isinstance(problem, SignalError) else type(problem).__name__
                        _log.warning("signal left out channel=kafka topic=%s offset=%d reason=%s", topic.name, offset, reason)
                        continue
                    if signal is None:
                        _log.info("signal of another connector passed over topic=%s offset=%d", topic.name, offset)
                    else:
                        self._put(signal)

    def _file(self, file: SignalFile) -> None:
        if file.inside:
            self._listeners["file"] = partial(self._read_file, file)
            return
        _log.warning(
            "signal channel off channel=file file=%s reason=the file lies outside of the folder of the worker property %s",
            self._config.signal_file,
            SETTING,
        )

    async def _read_file(self, file: SignalFile) -> None:
        while True:
            try:
                lines = await asyncio.to_thread(file.take)
            except NotSignalsError as refusal:
                lines = []
                _log.warning("signal file left as it is channel=file file=%s reason=%s", self._config.signal_file, refusal)
            for line in lines:
                try:
                    signal = read_line(line)
                except SignalError as refusal:
                    _log.warning("signal left out channel=file file=%s reason=%s", self._config.signal_file, refusal)
                    continue
                if signal is not None:
                    self._put(signal)
            await asyncio.sleep(self._pause_s)

    def _custom(self, name: str) -> Listen:
        channel = load("signal_channels", name, SignalChannel, setting="signal.enabled.channels", allowed=self._context.plugins)  # type: ignore[type-abstract]
        configure(channel.configure, self._config.raw, f"Signal channel {name}")

        async def listen() -> None:
            async with aclosing(cast("AsyncGenerator[Signal, None]", channel.signals())) as signals:
                async for signal in signals:
                    self._put(_checked(signal))

        return listen


def _checked(signal: Signal) -> Signal:
    """What a user's class gave. Raises TypeError unless it is a signal."""
    given: object = signal
    if not isinstance(given, Signal) or not isinstance(given.id, str) or not isinstance(given.type, str):
        raise TypeError(type(given).__name__)
    if given.data is not None and not isinstance(given.data, str):
        raise TypeError(type(given.data).__name__)
    return given


def _new_id() -> str:
    return str(uuid.uuid4())


def _told(problem: BaseException) -> str:
    number = problem.strerror if isinstance(problem, OSError) else None
    return f"{type(problem).__name__}: {number}" if number else type(problem).__name__
