"""What a transform reports to the log: events that it drops or leaves as they are although its options want something else."""

from __future__ import annotations

from typing import Final, Protocol, runtime_checkable

from connector.log import Warn

_MOST: Final = 1_000


class Reports:
    """Writes each kind of report once for each topic, and never a value. It writes nothing until :meth:`bind`."""

    __slots__ = ("_alias", "_error", "_seen", "_warn")

    def __init__(self) -> None:
        self._alias = ""
        self._warn: Warn | None = None
        self._error: Warn | None = None
        self._seen: set[tuple[str, str]] = set()

    def bind(self, alias: str, warn: Warn, error: Warn) -> None:
        """Write to ``warn``, and to ``error`` what is to have this level. ``alias`` is the configuration's name of the transform."""
        self._alias, self._warn, self._error = alias, warn, error

    def __call__(self, event: str, topic: str, *, as_error: bool = False, **fields: object) -> None:
        """Report ``event`` of a record of ``topic``, unless that was reported already. After 1000 topics and kinds, no further ones."""
        write = self._error if as_error else self._warn
        if write is None or (event, topic) in self._seen or len(self._seen) >= _MOST:
            return
        self._seen.add((event, topic))
        write(event, transform=self._alias, topic=topic, **fields)


@runtime_checkable
class Reporting(Protocol):
    """A transform that reports."""

    reports: Reports
