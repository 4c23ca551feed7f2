"""Names for what is random in recorded spans: ids, and the time at which a span ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_EVENTS_END: Final = 1_735_689_600_000_000_000
"""The cases' events are before 2025."""


class SpanIds:
    """Names for the ids that are random."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def spans(self, spans: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the spans with names in place of random ids, and ``now`` in place of a time that is not an event's."""
        found = list(spans)
        for span in found:
            self._names[span["id"]] = f"<{span['name']}>"
        for span in found:
            # A trace that begins here has no parent outside.
            if span["parent"] is None:
                self._names[span["trace"]] = "<trace>"
        return [
            {
                **span,
                "id": self.replaced(span["id"]),
                "trace": self.replaced(span["trace"]),
                "parent": span["parent"] and self.replaced(span["parent"]),
                "start": _time(span["start"]),
                "end": _time(span["end"]),
            }
            for span in found
        ]

    def replaced(self, text: str) -> str:
        """Return the text with names in place of random ids."""
        for random, name in self._names.items():
            text = text.replace(random, name)
        # Some SDKs set a flag that says that the id of a new trace is random. An id of a span that is not kept is nowhere else.
        return re.sub(r"-[0-9a-f]{16}-00\b", "-<not kept>-00", re.sub(r"(00-<trace>-<[^>]+>)-03", r"\1-01", text))


def _time(nanos: int) -> int | str:
    return nanos if nanos < _EVENTS_END else "now"
