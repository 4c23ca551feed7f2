"""Query parameters as Kafka Connect reads them: none is refused, and the first of several counts."""

from __future__ import annotations

from fastapi import Request


def flag(request: Request, name: str, *, default: bool) -> bool:
    """Read a Boolean: ``true`` in any case is true, other text is false, an absent or empty parameter is ``default``."""
    given = request.query_params.getlist(name)
    return given[0].lower() == "true" if given and given[0] else default
