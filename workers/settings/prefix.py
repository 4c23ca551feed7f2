"""Properties with a common prefix."""

from __future__ import annotations

from collections.abc import Mapping


def under(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the properties whose names begin with ``prefix``, without the prefix."""
    return {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
