"""The methods of a path, as ``Allow`` lists them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

ORDER: Final = ("HEAD", "POST", "DELETE", "GET", "OPTIONS", "PUT", "PATCH")
"""Kafka Connect's order."""


def allowed(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """The methods of the scope's path, with HEAD and OPTIONS; empty when there is no such path."""
    methods: set[str] = set()
    for route in routes:
        if isinstance(route, Route) and route.methods and route.matches(scope)[0] is not Match.NONE:
            methods |= route.methods
    if not methods:
        return []
    methods.add("OPTIONS")
    if "GET" in methods:
        methods.add("HEAD")
    return [method for method in ORDER if method in methods]
