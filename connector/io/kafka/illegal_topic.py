"""Stands for a topic whose name Kafka does not take. A transform can name such a topic; the names of tables are made legal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from connector.io.kafka.topic_out import Partition, TopicOut
from connector.record.batch import Record

_LEGAL: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_SHOWN: Final = 300
"""A transform may take a name from a value of any length."""


def is_legal(topic: str) -> bool:
    """Whether Kafka takes a topic with this name."""
    return _LEGAL.fullmatch(topic) is not None


def shortened(topic: str) -> str:
    """Return the name as messages show it: in quotes, because it may be empty or have blanks, and not longer than they need."""
    return repr(topic) if len(topic) <= _SHOWN else f"{topic[:_SHOWN]!r}... ({len(topic)} characters)"


class RefusedOut(TopicOut):
    """Calls ``refuse`` with the name for each record, and has none. ``refuse`` may raise CdcError."""

    __slots__ = ("_refuse",)

    def __init__(self, name: str, refuse: Callable[[str], None], *, apart: bool = False) -> None:
        self._refuse = refuse
        super().__init__(name, {}, apart=apart)
        # A record that names its partition does not wait for those of this topic.
        self.partitions = [Partition(name, 0)]

    def append_to(self, partition: int, record: Record) -> None:  # noqa: ARG002 (no partition has records)
        """Refuse the record."""
        self._refuse(self.name)

    def _first(self, key: bytes | None, prefix: bytes, payload: bytes | None, headers: bytes, timestamp: int) -> None:  # noqa: ARG002
        self._refuse(self.name)

    def _first_all(
        self,
        keys: Sequence[bytes] | None,  # noqa: ARG002
        prefix: bytes,  # noqa: ARG002
        payloads: Sequence[bytes],
        headers: bytes,  # noqa: ARG002
        timestamp: int,  # noqa: ARG002
    ) -> None:
        for _ in payloads:
            self._refuse(self.name)

    def _first_each(self, records: Sequence[Record]) -> None:
        for _ in records:
            self._refuse(self.name)
