"""A :class:`workers.stores.topic_log.TopicLog` in memory, without Kafka: for the bulk command and for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from connector.errors import CdcError, ErrorKind
from workers.stores.topic_log import Apply, Entry


class MemoryTopic:
    """A topic that several logs may share, as several workers share one of Kafka's."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self.entries: list[Entry] = _placed(entries, 0)
        self._followers: list[Apply] = []

    def follow(self, apply: Apply) -> None:
        """Call ``apply`` with all present records, and later with all new ones."""
        if self.entries:
            apply(list(self.entries))
        self._followers.append(apply)

    def leave(self, apply: Apply) -> None:
        """Stop calling ``apply``."""
        self._followers.remove(apply)

    def append(self, entries: Sequence[Entry]) -> None:
        """Add at the end and call all followers."""
        placed = _placed(entries, len(self.entries))
        self.entries.extend(placed)
        for apply in list(self._followers):
            apply(placed)


class MemoryLog:
    """A :class:`TopicLog` over a :class:`MemoryTopic`. While ``broken`` is set every write fails, as with a lost cluster."""

    def __init__(self, topic: MemoryTopic | None = None, name: str = "memory") -> None:
        self.name = name
        self.problem = ""
        self.topic = topic if topic is not None else MemoryTopic()
        self.broken = False
        self._apply: Apply | None = None

    async def start(self, apply: Apply) -> None:
        """Read the topic and follow it."""
        self._apply = apply
        self.topic.follow(apply)

    async def write(self, entries: Sequence[Entry]) -> None:
        """Append, or raise CdcError(STORE) when ``broken``."""
        if self.broken:
            raise CdcError(ErrorKind.STORE, "The memory log is broken", "Set broken to False.")
        self.topic.append(entries)

    async def catch_up(self) -> None:
        """No-op: a memory topic calls its followers at once."""

    async def stop(self) -> None:
        """Leave the topic."""
        if self._apply is not None:
            self.topic.leave(self._apply)
            self._apply = None


def _placed(entries: Sequence[Entry], begin: int) -> list[Entry]:
    return [replace(entry, offset=offset, partition=0) for offset, entry in enumerate(entries, begin)]
