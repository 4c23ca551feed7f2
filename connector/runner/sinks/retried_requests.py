"""Asks a schema registry again while it does not answer (``errors.retry.timeout``, ``errors.retry.delay.max.ms``; KIP-298)."""

from __future__ import annotations

from itertools import count
from typing import Final

from connector.converters.converter import SchemaRequest
from connector.errors import CdcError, Directive
from connector.log import EventLog
from connector.ports import Clock
from connector.runner.clock import SYSTEM_CLOCK
from connector.runner.sinks.converting_sink import ResolveSchema

LOG: Final = EventLog(__name__)

_FIRST_PAUSE_MS: Final = 300
_MOST_DOUBLINGS: Final = 40


class RetriedRequests:
    """A :data:`ResolveSchema` that repeats requests whose failure may pass, and raises the last failure after ``timeout_ms``.

    The first pause is 300 ms, and each further one twice as long, up to ``longest_ms``. -1 as ``timeout_ms`` sets no limit, 0 repeats
    nothing. Each attempt has the repetitions that the registry's own options ask for.
    """

    def __init__(self, resolve: ResolveSchema, timeout_ms: int, longest_ms: int, clock: Clock = SYSTEM_CLOCK) -> None:
        self._resolve = resolve
        self._timeout_ms = timeout_ms
        self._longest_ms = longest_ms
        self._clock = clock

    async def __call__(self, registry: object, request: SchemaRequest) -> None:
        """Resolve the request. Raises CdcError."""
        began = self._clock.monotonic()
        for attempt in count():
            try:
                await self._resolve(registry, request)
            except CdcError as problem:
                pause = min(_FIRST_PAUSE_MS << min(attempt, _MOST_DOUBLINGS), self._longest_ms) / 1000
                if self._timeout_ms >= 0:
                    pause = min(pause, began + self._timeout_ms / 1000 - self._clock.monotonic())
                if problem.directive is not Directive.RETRY or pause <= 0:
                    raise
                LOG.warning("schema registry asked again", subject=request.subject, attempt=attempt + 1, reason=problem.message)
                await self._clock.sleep(pause)
            else:
                return
