"""The flows of all connectors of the group: of those that run here from memory, of the others from the workers that run them."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from connector.log import EventLog
from workers.console.flow import Flow
from workers.console.sampling import Sampler
from workers.console.watched import WatchedWorker

if TYPE_CHECKING:
    import httpx

LOG: Final = EventLog(__name__)

PATH: Final = "/ui/flows"
"""Where a console gives its own flows to another one."""
SECONDS: Final = 1.0
"""How long a page waits for another worker."""

Ask = Callable[[str, Mapping[str, str], str], Awaitable[Mapping[str, Flow] | None]]
"""Asks the worker at this URL for the flows that it knows, with these headers; of one connector if one is named. None: no answer."""


@dataclass(slots=True)
class Found:
    """Flows by connector, and the ids of the workers that did not answer. The flows of ``unknown`` connectors are theirs."""

    flows: dict[str, Flow] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)


class GroupFlows:
    """``ask`` asks another worker."""

    def __init__(self, worker: WatchedWorker, sampler: Sampler, ask: Ask) -> None:
        self._worker = worker
        self._sampler = sampler
        self._ask = ask

    def here(self, names: Collection[str]) -> dict[str, Flow]:
        """The flows of those of the connectors that run here."""
        now_ms = time.time_ns() // 1_000_000
        running = ((name, self._worker.running_progress(name)) for name in names)
        return {name: Flow.of(found, self._sampler.rates(name), now_ms) for name, found in running if found is not None}

    async def of(self, running: Collection[str], headers: Mapping[str, str]) -> Found:
        """The flows of the connectors whose tasks run somewhere. Waits for other workers at most :data:`SECONDS`.

        ``headers`` are those of the request to the console: its login is that of the group.
        """
        found = Found(self.here(running))
        wanted = set(running) - found.flows.keys()
        owners = [member for member in self._worker.members() if not member.here and wanted.intersection(member.connectors)]
        one = next(iter(wanted)) if len(wanted) == 1 else ""
        answers = await asyncio.gather(*(self._ask(member.url, headers, one) for member in owners))
        for member, answer in zip(owners, answers, strict=True):
            theirs = wanted.intersection(member.connectors)
            if answer is None:
                found.silent.append(member.worker_id)
                found.unknown |= theirs
            else:
                found.flows |= {name: flow for name, flow in answer.items() if name in theirs}
        return found


class OtherWorkers:
    """Asks the consoles of other workers. ``tls`` verifies https workers; None: the system's certificates do."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._client: httpx.AsyncClient | None = None

    async def ask(self, url: str, headers: Mapping[str, str], connector: str) -> Mapping[str, Flow] | None:
        """Obeys :data:`Ask`."""
        import httpx  # noqa: PLC0415 (the import takes 80 ms; a worker without a group never needs it)

        if self._client is None:
            self._client = httpx.AsyncClient(trust_env=False, verify=self._tls if self._tls is not None else True)
        login = {"Authorization": headers["authorization"]} if "authorization" in headers else {}
        query = f"?{urlencode({'connector': connector})}" if connector else ""
        try:
            async with asyncio.timeout(SECONDS):
                answer = await self._client.get(f"{url.rstrip('/')}{PATH}{query}", headers=login)
            return {str(name): Flow.of_json(flow) for name, flow in answer.raise_for_status().json().items()}
        except (TimeoutError, httpx.HTTPError, AttributeError, KeyError, TypeError, ValueError) as problem:
            # It may be dead, of another version, or without a console: the page says that the figures are unknown.
            LOG.debug("another worker's flows not known", url=url, error=type(problem).__name__)
            return None
