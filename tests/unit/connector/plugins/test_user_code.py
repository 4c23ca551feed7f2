"""Channels and actions of users: whatever they raise, neither the task that calls them nor the worker ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, ClassVar, Self, cast

import pytest

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.notifications.custom_channel import NotificationChannel
from connector.notifications.notification import Notification
from connector.plugins.allowed import AllowedPlugins
from connector.runner.context import TaskContext
from connector.runner.notifications.notifier import Notifier
from connector.runner.signaling.signal_channels import SignalChannels
from connector.runner.signaling.signals import Signals, SignalSources
from connector.runner.user_code import end_if_cancelled
from connector.signals.custom_action import SignalAction
from connector.signals.custom_channel import SignalChannel
from connector.signals.signal import Signal
from tests.support.fake_signal_source import FakeSignalSource
from tests.support.log_line import log_line, log_text
from tests.support.task_context import shop_config, task_context

ENDS = [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, RecursionError]
each_end = pytest.mark.parametrize("end", ENDS)


class Raising:
    """What the classes below raise, and where."""

    end: ClassVar[type[BaseException]] = SystemExit
    at: ClassVar[str] = ""

    def _at(self, place: str) -> None:
        if self.at == place:
            raise self.end("secret")


class Channel(Raising, SignalChannel):
    given: ClassVar[list[object]] = []

    def configure(self, properties: Mapping[str, str]) -> None:
        self._at("configure")

    async def signals(self) -> AsyncIterator[Signal]:
        try:
            self._at("signals")
            for each in self.given:
                yield cast("Signal", each)
            await asyncio.get_running_loop().create_future()
        finally:
            self._at("finally")


class Notifications(Raising, NotificationChannel):
    def configure(self, properties: Mapping[str, str]) -> None:
        self._at("configure")

    def send(self, notification: Notification) -> None:
        self._at("send")


class Action(Raising, SignalAction):
    type = "mine"
    waits: ClassVar[asyncio.Event | None] = None

    async def arrived(self, signal: Signal, data: Mapping[str, object]) -> None:
        self._at("arrived")
        if self.waits is not None:
            self.waits.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._at("finally")


class Untyped(SignalAction):
    async def arrived(self, signal: Signal, data: Mapping[str, object]) -> None:
        raise AssertionError


class Shy(Raising, SignalAction):
    @property
    def type(self) -> str:  # type: ignore[override]
        raise self.end

    async def arrived(self, signal: Signal, data: Mapping[str, object]) -> None:
        raise AssertionError


@pytest.fixture(autouse=True)
def tame() -> None:
    Raising.at, Channel.given[:], Action.waits = "", [], None


def context_of(**properties: str) -> tuple[TaskContext, ConnectorConfig]:
    config = shop_config(**properties)
    return task_context(config, plugins=AllowedPlugins.parse(__name__)), config


class Told(logging.Handler):
    """The log's lines as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.put_nowait(log_line(record))

    def __enter__(self) -> Self:
        logging.getLogger("connector.runner").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("connector.runner").removeHandler(self)


@each_end
async def test_a_signal_channel_that_raises_is_called_again(end: type[BaseException]) -> None:
    Raising.end, Raising.at = end, "signals"
    arrived: asyncio.Queue[Signal] = asyncio.Queue()
    channels = SignalChannels(*context_of(signal_enabled_channels=f"{__name__}:Channel"), arrived.put_nowait)
    async with AsyncExitStack() as stack:
        with Told() as reported:
            await channels.start(stack)
            line = await reported.lines.get()
        assert f"reason={end.__name__}" in line
        assert "secret" not in line
        Channel.given[:] = [Signal("s1", "log", None, "mine")]
        Raising.at = ""
        assert (await arrived.get()).id == "s1"


@each_end
async def test_a_signal_channel_that_raises_at_its_end_is_ended(end: type[BaseException]) -> None:
    Raising.end = end
    arrived: asyncio.Queue[Signal] = asyncio.Queue()
    Channel.given[:] = [Signal("s1", "log", None, "mine")]
    channels = SignalChannels(*context_of(signal_enabled_channels=f"{__name__}:Channel"), arrived.put_nowait)
    async with AsyncExitStack() as stack:
        await channels.start(stack)
        await arrived.get()
        Raising.at = "finally"
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("signals ")]


@pytest.mark.parametrize(
    "given",
    ["text", None, Signal(cast("Any", 7), "log", None), Signal("s", cast("Any", ["log"]), None), Signal("s", "log", cast("Any", {}))],
)
async def test_invalid_signals_are_not_passed_on(given: object) -> None:
    Channel.given[:] = [given]
    arrived: asyncio.Queue[Signal] = asyncio.Queue()
    channels = SignalChannels(*context_of(signal_enabled_channels=f"{__name__}:Channel"), arrived.put_nowait)
    async with AsyncExitStack() as stack:
        with Told() as reported:
            await channels.start(stack)
            assert "reason=TypeError" in await reported.lines.get()
    assert arrived.empty()


@each_end
@pytest.mark.parametrize("kind", ["signal", "notification"])
def test_a_channel_that_does_not_take_its_configuration(end: type[BaseException], kind: str) -> None:
    # Outside of a loop a KeyboardInterrupt would be the operator's.
    Raising.end, Raising.at = SystemExit if end is KeyboardInterrupt else end, "configure"
    name = "Channel" if kind == "signal" else "Notifications"
    context, config = context_of(**{f"{kind}_enabled_channels": f"{__name__}:{name}"})
    with pytest.raises(CdcError, match=r"does not accept the connector's configuration: its configure raised") as caught:
        SignalChannels(context, config, print) if kind == "signal" else Notifier(context, config, cast("Any", None))
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@each_end
async def test_a_notification_channel_that_raises_harms_nothing(end: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
    Raising.end, Raising.at = end, "send"
    notifier = Notifier(*context_of(notification_enabled_channels=f"{__name__}:Notifications"), cast("Any", None))
    notifier.send(notifier.initial.started())
    assert f"error={end.__name__}" in log_text(caplog.records)


@pytest.mark.parametrize("name", ["Untyped", "Shy"])
def test_an_action_without_a_type_is_refused(name: str) -> None:
    Raising.end = SystemExit
    with pytest.raises(CdcError, match=f"Signal action {__name__}:{name}, which property signal.actions names, has no type"):
        SignalSources(*context_of(signal_actions=f"{__name__}:{name}"))


def signals_of(action: str) -> Signals:
    context, config = context_of(signal_actions=f"{__name__}:{action}")
    none: Any = None
    sources = SignalSources(context, config)
    source = FakeSignalSource([])
    return Signals(config, none, source, none, none, none, sources, gate=asyncio.Lock(), refresh=none, changed=none)


@each_end
async def test_an_action_that_raises_harms_nothing(end: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
    Raising.end, Raising.at = end, "arrived"
    await signals_of("Action")._obey(Signal("s1", "mine", None))
    assert f"signal action failed id=s1 type=mine channel=source error={end.__name__}" in log_text(caplog.records)


@each_end
async def test_an_action_that_raises_while_its_task_ends_does_not_keep_it(end: type[BaseException]) -> None:
    Raising.end, Raising.at, Action.waits = end, "finally", asyncio.Event()
    task = asyncio.create_task(signals_of("Action")._obey(Signal("s1", "mine", None)))
    await Action.waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_unrequested_cancellation_ends_nothing() -> None:
    end_if_cancelled(asyncio.CancelledError())
