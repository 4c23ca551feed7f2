"""The settings of the configuration that concern the events of the stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from connector.events.envelope import DEFAULT_FORM, EventForm

LEAVING_OUT: Final = frozenset({"warn", "skip", "ignore"})
"""The values of ``event.processing.failure.handling.mode`` that leave out an event that cannot be made."""


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The settings of one task's stream. ``skipped`` holds letters of ``skipped.operations``."""

    tombstones: bool = True
    skipped: frozenset[str] = frozenset("t")
    headers: bytes = b"\0"
    """The headers of every record, encoded."""
    key_change_headers: Callable[[bytes, str], bytes] = lambda _key, _name: b"\0"
    """Returns the encoded headers of a record around a key change, given the other key and its header's name."""
    header_holds_document: bool = False
    """Whether such a header holds the other key as keys are written, for :class:`connector.delivery.record_conversion.RecordReader`.
    Otherwise it holds the text that SimpleHeaderConverter makes of a key."""
    conversion_failure: str = "warn"
    """``event.converting.failure.handling.mode``: warn, skip (send null without a warning) or fail."""
    processing_failure: str = "fail"
    """``event.processing.failure.handling.mode``: an event that cannot be made fails the task (fail), or is left out with a warning
    (warn) or without one (skip, ignore)."""
    form: EventForm = DEFAULT_FORM
    pgoutput_names: bool = True
    """Whether the names come from pgoutput itself. Debezium 2.3.4 misreads these, and reads the names of other plugins correctly."""
    skip_unchanged: bool = False
    """``skip.messages.without.change``: leave out an update that changes no captured column, if the server sends whole old rows."""
