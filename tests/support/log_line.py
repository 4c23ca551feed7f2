"""What the log says, as one text a record: the event, and its fields as ``key=value``."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping


def log_line(record: logging.LogRecord) -> str:
    """The event and the fields of one record."""
    fields: Mapping[str, object] = getattr(record, "fields", {})
    return " ".join([record.getMessage(), *(f"{key}={value}" for key, value in fields.items())])


def log_text(records: Iterable[logging.LogRecord]) -> str:
    """All records, one line each."""
    return "\n".join(log_line(record) for record in records)
