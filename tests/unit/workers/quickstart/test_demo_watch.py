from __future__ import annotations

from dataclasses import dataclass

import pytest

from workers.quickstart.demo.watch import Watch


@dataclass(frozen=True)
class FakeRecord:
    topic: str
    offset: int
    partition: int = 0
    key: bytes | None = None
    value: bytes | None = None


class FakeConsumer:
    """Finds a second topic after two records, and then reads the first one again, as aiokafka's consumer without a group does."""

    def __init__(self) -> None:
        self._records = iter([FakeRecord("s.a", 0), FakeRecord("s.a", 1), FakeRecord("s.a", 0), FakeRecord("s.a", 1), FakeRecord("s.b", 0)])

    async def getone(self) -> FakeRecord:
        return next(self._records)


async def test_a_record_that_is_read_again_is_not_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch.__new__(Watch)
    watch._consumer, watch._next = FakeConsumer(), {}
    await watch.show(3)
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["s.a", "s.a", "s.b"]
