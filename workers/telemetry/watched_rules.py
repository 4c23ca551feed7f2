"""The rules of ``metrics.rules`` or ``metrics.agent``, read again when their file has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from connector.errors import CdcError
from connector.log import EventLog
from connector.ports import Backtracking
from workers.telemetry.exposition import BUILT_IN, load_rules
from workers.telemetry.rules.family import Family, plain_family
from workers.telemetry.rules.rule_file import RuleFile

LOG: Final = EventLog(__name__)

_Stamp = tuple[int, int, int]


class WatchedRules:
    """The rules that ``named`` names. Raises CdcError(CONFIG_INVALID) for a file that cannot be used."""

    def __init__(self, named: str, backtrack: Backtracking) -> None:
        self._named: Final = named
        self._backtrack: Final = backtrack
        self._path: Final = None if named in BUILT_IN else Path(named)
        # Taken before the file is read, so that a change meanwhile is noticed later.
        self._stamp = self._look()
        self.first: Final = load_rules(named, backtrack)
        """The rules at the start."""
        self._reloads = self._failures = 0

    async def renewed(self) -> RuleFile | None:
        """Return the rules if their file has changed; otherwise None, and also if the changed file cannot be used, which the log says once.

        A file that is missing has not changed: programs may remove a file before they write it again.
        """
        return None if self._path is None else await asyncio.to_thread(self._renew)

    def families(self) -> Iterator[Family]:
        """Yield the counts of reloads that the exporter has too; none for built-in rules."""
        if self._path is not None:
            yield plain_family("jmx_config_reload_success", "counter", "How often changed rules were taken.", float(self._reloads))
            yield plain_family("jmx_config_reload_failure", "counter", "How often changed rules could not be used.", float(self._failures))

    def _renew(self) -> RuleFile | None:
        stamp = self._look()
        if stamp is None or stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            found = load_rules(self._named, self._backtrack)
        except CdcError as problem:
            self._failures += 1
            LOG.error("changed metrics rules cannot be used, the former ones stay", file=self._named, reason=problem)  # noqa: TRY400
            return None
        self._reloads += 1
        LOG.info("metrics rules read again", file=self._named)
        return found

    def _look(self) -> _Stamp | None:
        if self._path is None:
            return None
        try:
            found = self._path.stat()
        except OSError:
            return None
        # The time of change also tells that a file became readable.
        return found.st_mtime_ns, found.st_ctime_ns, found.st_ino
