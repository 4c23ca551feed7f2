"""The spans of a connector's task (:class:`connector.ports.Tracing`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context

from connector.errors import CdcError

_TRACER: Final = "understudy"
Fact = str | int | float | bool


class TaskSpan:
    """An open span, which is the parent of those that begin before its end."""

    def __init__(self, ended: Callable[[TaskSpan, bool], None], span: trace.Span, parent: TaskSpan | None) -> None:
        self._tell = ended
        self._span = span
        self.parent = parent
        self._ended = False

    @property
    def context(self) -> Context:
        """The context of spans below this one."""
        return trace.set_span_in_context(self._span)

    def end(self, problem: BaseException | None = None) -> None:
        """End it, as failed if there is a ``problem``. No-op if it has ended."""
        if self._ended:
            return
        self._ended = True
        if problem is not None:
            # The text of a driver's error may hold a value of a row: only the kind is shown.
            kind = problem.kind.value if isinstance(problem, CdcError) else type(problem).__name__
            self._span.set_attribute("error.type", kind)
            self._span.set_status(trace.Status(trace.StatusCode.ERROR, kind))
        self._span.end()
        self._tell(self, problem is not None)


class TaskSpans:
    """The spans of one connector, over all attempts of its task."""

    def __init__(self, connector: str, provider: trace.TracerProvider, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._connector: Final = connector
        self._tracer: Final = provider.get_tracer(_TRACER)
        self._now_ns: Final = now_ns
        self._open: TaskSpan | None = None
        self._start: TaskSpan | None = None
        self._failures = 0
        """Attempts in a row that ended with an error, after the last one that streamed."""
        self._after = ""

    def starts(self) -> TaskSpan:
        """Begin the span of a start. That of a repeated attempt names the kind of the error before it."""
        self._open = None
        again = {"understudy.after_error": self._after} if self._after else {}
        start = self._start = self.begin("task start", attempt=self._failures + 1, **again)
        return start

    def failed(self, problem: BaseException) -> None:
        """Take note of the end of an attempt by an error."""
        self._failures += 1
        self._after = problem.kind.value if isinstance(problem, CdcError) else type(problem).__name__

    def begin(self, name: str, **facts: Fact) -> TaskSpan:
        """Begin a span below the open one."""
        above = self._open
        span = self._tracer.start_span(name, context=None if above is None else above.context, attributes=self._attributes(facts))
        self._open = TaskSpan(self._ended, span, above)
        return self._open

    def passed(self, name: str, seconds: float, **facts: Fact) -> None:
        """Add a span that ends now."""
        context = None if self._open is None else self._open.context
        end = self._now_ns()
        span = self._tracer.start_span(name, context=context, attributes=self._attributes(facts), start_time=end - int(seconds * 1e9))
        span.end(end)

    def _ended(self, span: TaskSpan, failed: bool) -> None:
        if span is self._open:
            self._open = span.parent
        if span is self._start:
            # Nothing is below a start that is over, not even what an error left open.
            self._open = None
            if not failed:
                self._failures, self._after = 0, ""

    def _attributes(self, facts: dict[str, Fact]) -> dict[str, Fact]:
        named = {name if "." in name else f"understudy.{name}": value for name, value in facts.items()}
        return {"understudy.connector": self._connector, **named}
