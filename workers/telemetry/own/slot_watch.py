"""What metrics show of the connectors' slots: the answers of looks at their databases, which a scrape asks for and does not wait long for.

Connectors with the same connection settings share a look, which is one connection with two queries. Looks are made when somebody asks for
metrics and the last look is some seconds old. A slow or unreachable database delays no scrape: the figures of its slots are then those of
the last look that succeeded, with their age, and after some minutes there are none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from connector.errors import CdcError
from connector.log import EventLog
from connector.meters.wal_track import Growth, WalTrack
from connector.preflight.slot_health import ServerSlots

LOG: Final = EventLog(__name__)

EVERY_S: Final = 5.0
"""The least time between two looks at a server."""
WAIT_S: Final = 0.2
"""How long a scrape waits for a look. Most take a few milliseconds, so that the figures of a scrape are its own."""
KEPT_S: Final = 300.0
"""Figures that are older are not shown."""
_AT_ONCE: Final = 8
"""Looks at different servers at the same time."""

Settings = tuple[tuple[str, str], ...]
"""The properties of a connection to a server. Never show or log them."""
Target = tuple[str, Settings]
"""A slot's name, and the connection to its server. Equal settings share a look."""
Locate = Callable[[Mapping[str, str]], Awaitable[Target]]
"""``locate(config)``: where the slot of a stored configuration is. May raise CdcError."""
Look = Callable[[Settings, Sequence[str]], Awaitable[ServerSlots]]
"""``look(settings, slots)``: may raise CdcError."""


@dataclass(frozen=True, slots=True)
class SlotFigures:
    """The figures of one slot. None stands for what is not known."""

    wal_status: str
    active: bool
    lag_bytes: int
    lag_seconds: float | None
    retained_bytes: int
    safe_bytes: int | None
    limit_seconds: float | None
    server_lsn: int
    age_seconds: float


@dataclass(slots=True)
class _Server:
    """What the looks at one server have found."""

    track: WalTrack = field(default_factory=WalTrack)
    growth: dict[str, Growth] = field(default_factory=dict)
    """How fast the WAL that is retained for a slot grows, by the slot's name."""
    found: ServerSlots | None = None
    looked: float = 0.0
    """When ``found`` was found, in monotonic seconds."""
    troubled: bool = False
    """Whether the last look failed; the log has its reason."""


class SlotWatch:
    """Looks at the slots of the connectors that ``configs`` returns: stored configurations by name, with their references."""

    def __init__(
        self,
        configs: Callable[[], Mapping[str, Mapping[str, str]]],
        locate: Locate,
        look: Look,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._configs: Final = configs
        self._locate: Final = locate
        self._look: Final = look
        self._now: Final = now
        self._targets: dict[str, tuple[Mapping[str, str], Target]] = {}
        """Connector → its configuration when it was located, and the slot's place."""
        self._doubtful: set[str] = set()
        """Connectors to locate again, because their database could not be asked: a password may have changed behind its reference."""
        self._servers: dict[Settings, _Server] = {}
        self._running: asyncio.Task[None] | None = None
        self._began = -EVERY_S

    async def fresh(self) -> None:
        """Begin a look unless the last one is recent, and wait shortly for its answers."""
        if self._running is None and self._now() - self._began >= EVERY_S:
            self._began = self._now()
            self._running = asyncio.create_task(self._look_at_all(), name="look at slots for metrics")
        if self._running is not None:
            await asyncio.wait({self._running}, timeout=WAIT_S)

    def of(self, name: str) -> SlotFigures | None:
        """Return the figures of a connector's slot; None if there are none, or none that are recent."""
        if name not in self._targets:
            return None
        slot_name, settings = self._targets[name][1]
        server = self._servers.get(settings)
        now = self._now()
        if server is None or server.found is None or now - server.looked > KEPT_S:
            return None
        slot = server.found.slots.get(slot_name)
        if slot is None:
            return None
        lsn = server.found.lsn
        growth = server.growth[slot_name].per_second if slot_name in server.growth else None
        limited = slot.safe_wal_size is not None and growth is not None and growth > 0
        return SlotFigures(
            wal_status=slot.wal_status,
            active=slot.active,
            lag_bytes=max(0, lsn - slot.confirmed),
            lag_seconds=server.track.age(slot.confirmed),
            retained_bytes=max(0, lsn - slot.restart) if slot.restart else 0,
            safe_bytes=slot.safe_wal_size,
            limit_seconds=max(0.0, (slot.safe_wal_size or 0) / (growth or 1.0)) if limited else None,
            server_lsn=lsn,
            age_seconds=now - server.looked,
        )

    async def _look_at_all(self) -> None:
        try:
            slots: dict[Settings, set[str]] = {}
            for name, config in self._configs().items():
                target = await self._located(name, config)
                if target is not None:
                    slots.setdefault(target[1], set()).add(target[0])
            self._targets = {name: self._targets[name] for name in self._configs() if name in self._targets}
            self._servers = {settings: self._servers.get(settings, _Server()) for settings in slots}
            places = asyncio.Semaphore(_AT_ONCE)
            await asyncio.gather(*(self._look_at(settings, sorted(names), places) for settings, names in slots.items()))
        except Exception as defect:  # noqa: BLE001 (the other figures are shown all the same)
            LOG.error("look at slots failed", cause=defect)  # noqa: TRY400 (EventLog has no other method for it)
        finally:
            self._running = None

    async def _located(self, name: str, config: Mapping[str, str]) -> Target | None:
        known = self._targets.get(name)
        if known is not None and known[0] == config and name not in self._doubtful:
            return known[1]
        try:
            target = await self._locate(config)
        except CdcError as problem:
            # The task fails with the same problem, and says so.
            LOG.debug("slot not found for metrics", connector=name, reason=problem.kind.value)
            return None
        # A parsed configuration takes some milliseconds, and there may be hundreds of them.
        await asyncio.sleep(0)
        self._targets[name] = config, target
        self._doubtful.discard(name)
        return target

    async def _look_at(self, settings: Settings, slots: Sequence[str], places: asyncio.Semaphore) -> None:
        server = self._servers[settings]
        async with places:
            try:
                found = await self._look(settings, slots)
            except CdcError as problem:
                if not server.troubled:
                    LOG.warning("slots not seen for metrics", slots=",".join(slots), kind=problem.kind.value)
                server.troubled = True
                self._doubtful.update(name for name, (_, target) in self._targets.items() if target[1] == settings)
                return
        now = server.looked = self._now()
        server.found, server.troubled = found, False
        server.track.add(found.lsn, now)
        server.growth = {name: server.growth.get(name, Growth()) for name in found.slots}
        for name, slot in found.slots.items():
            server.growth[name].add(found.lsn - slot.restart, now)
