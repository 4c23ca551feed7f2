"""Which methods a path answers, as ``Allow`` lists them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

ORDER: Final = ("HEAD", "POST", "DELETE", "GET", "OPTIONS", "PUT", "PATCH")
"""The reference's order."""


def allowed(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """Methods of the scope's path, HEAD and OPTIONS included; empty when there is no such path."""
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
