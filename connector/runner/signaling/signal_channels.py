"""Passes signals from the enabled channels (``signal.enabled.channels``) to the task. The stream itself reads the signal table."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Final, cast

from connector.config.connector_config import ConnectorConfig
from connector.config.packed import prefixed
from connector.errors import CdcError
from connector.io.kafka.signal_topic import SignalTopic
from connector.io.signal_file import SETTING, NotSignalsError, SignalFile
from connector.log import EventLog
from connector.plugins.loading import configure, load
from connector.runner.context import TaskContext
from connector.runner.user_code import end_if_cancelled
from connector.signals.custom_channel import SignalChannel
from connector.signals.records import read_line, read_record
from connector.signals.signal import Signal, SignalError

LOG: Final = EventLog(__name__)

BEHIND_REST: Final = ("jmx", "http")
"""The names that enable signals by REST: Debezium's name for its JMX channel, and Understudy's own name."""

_WORKED_S: Final = 60.0

Put = Callable[[Signal], None]
Listen = Callable[[], Awaitable[None]]


class SignalChannels:
    """The channels of one task except ``source``. ``put`` receives each signal at once, on the event loop; it must not wait.

    The constructor raises CdcError(CONFIG_INVALID) for a Python class (``package.module:Class``) that cannot be loaded and for invalid
    properties of the Kafka consumer. Any other unknown channel has no effect except a warning in the log.
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
                    # Debezium ignores an unknown channel, such as a Java class that is not installed.
                    LOG.warning("signal channel not found, it has no effect", channel=name, reason=problem)

    async def start(self, stack: AsyncExitStack) -> None:
        """Open the channels; the stack closes them. If a channel fails, a warning is logged and the channel is opened again."""
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
        logged, loop = "", asyncio.get_running_loop()
        while True:
            begun = loop.time()
            try:
                await listen()
                reason = "it ended"
            except BaseException as problem:  # noqa: BLE001 (a user's class may raise anything)
                end_if_cancelled(problem)
                # Only names and codes are logged, because the text of a user's exception may contain what was read.
                reason = str(problem) if isinstance(problem, CdcError) else _words(problem)
            # The same reason is logged only once, until the channel has worked for some time.
            if reason != logged or loop.time() - begun > _WORKED_S:
                logged = reason
                LOG.warning("signal channel broken, trying again", channel=name, seconds=self._pause_s, reason=reason)
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
                        LOG.warning("signal ignored", channel="kafka", topic=topic.name, offset=offset, reason=reason)
                        continue
                    if signal is None:
                        LOG.info("signal of another connector ignored", topic=topic.name, offset=offset)
                    else:
                        self._put(signal)

    def _file(self, file: SignalFile) -> None:
        if file.inside:
            self._listeners["file"] = partial(self._read_file, file)
            return
        LOG.warning(
            "signal channel off",
            channel="file",
            file=self._config.signal_file,
            reason=f"the file lies outside of the folder of the worker property {SETTING}",
        )

    async def _read_file(self, file: SignalFile) -> None:
        while True:
            try:
                lines = await asyncio.to_thread(file.take)
            except NotSignalsError as refusal:
                lines = []
                LOG.warning("signal file not read", channel="file", file=self._config.signal_file, reason=refusal)
            for line in lines:
                try:
                    signal = read_line(line)
                except SignalError as refusal:
                    LOG.warning("signal ignored", channel="file", file=self._config.signal_file, reason=refusal)
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
    """Return what a user's class yielded. Raises TypeError unless it is a signal."""
    given: object = signal
    if not isinstance(given, Signal) or not isinstance(given.id, str) or not isinstance(given.type, str):
        raise TypeError(type(given).__name__)
    if given.data is not None and not isinstance(given.data, str):
        raise TypeError(type(given.data).__name__)
    return given


def _new_id() -> str:
    return str(uuid.uuid4())


def _words(problem: BaseException) -> str:
    number = problem.strerror if isinstance(problem, OSError) else None
    return f"{type(problem).__name__}: {number}" if number else type(problem).__name__
