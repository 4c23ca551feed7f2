"""``java.util.Date``: a time without a schema. A time with one of Connect's own schemas is a number (:mod:`connector.record.schema`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JavaDate:
    """A time in ms since 1970-01-01. JsonConverter cannot write it without a schema."""

    ms: int
