"""A sink that keeps the records of each topic, in the place of :class:`connector.io.kafka.sink.KafkaSink`."""

from __future__ import annotations

from typing import cast

from connector.io.kafka.sink import KafkaSink

from .stream_rig import RecordingOut, Sent


class RecordingSink:
    """``sent`` holds the records of each topic in order; ``failure``, once set, is raised by whatever would send."""

    def __init__(self) -> None:
        self.sent: dict[str, list[Sent]] = {}
        self.failure: BaseException | None = None
        self.pumps = 0

    def out(self, topic: str, *, apart: bool = False) -> RecordingOut:
        """Where the topic's records go."""
        if self.failure is not None:
            raise self.failure
        return RecordingOut(topic, self.sent.setdefault(topic, []))

    def pump(self) -> None:
        """Send what was appended."""
        self.pumps += 1

    @property
    def as_sink(self) -> KafkaSink:
        """This, where a KafkaSink is wanted."""
        return cast("KafkaSink", self)
