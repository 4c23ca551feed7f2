"""All cases of Debezium's smaller transforms, by the name of their recording."""

from __future__ import annotations

from typing import Final

from tests.support import (
    format_cases_headers,
    format_cases_messages,
    format_cases_routing,
    format_cases_rows,
    format_cases_shapes,
    format_cases_timezone,
)
from tests.support.format_case import Case

CASES: Final[dict[str, tuple[Case, ...]]] = {
    "headers": tuple(format_cases_headers.cases()),
    "messages": tuple(format_cases_messages.cases()),
    "routing": (*format_cases_routing.cases(), *format_cases_routing.computing()),
    "rows": tuple(format_cases_rows.cases()),
    "shapes": tuple(format_cases_shapes.cases()),
    "timezone": tuple(format_cases_timezone.cases()),
}
