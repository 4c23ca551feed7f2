"""One request to the console."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workers.console import answers
from workers.console.rest_calls import RestCalls


@dataclass(slots=True)
class Visit:
    """A request, what it may do, and the fields of its form (empty for GET)."""

    request: Request
    rest: RestCalls
    read_only: bool
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def connector(self) -> str:
        """The connector's name in the path; empty on other pages."""
        return str(self.request.path_params.get("connector", ""))

    def page(self, template: str, status_code: int = 200, /, **values: Any) -> Response:
        """Show a page."""
        return answers.page(self.request, template, status_code, read_only=self.read_only, **values)
