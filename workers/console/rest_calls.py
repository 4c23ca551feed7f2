"""Calls of the console to the worker's own REST interface, in the process.

The interface checks, refuses and forwards to other workers of the group. So the console can do nothing that REST cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.types import ASGIApp

from connect_api.herder import HerderError
from connect_api.paths import encode

if TYPE_CHECKING:
    import httpx

_SENT_ON: Final = ("authorization", "host")


@dataclass(frozen=True, slots=True)
class RestCalls:
    """Calls on behalf of one request to the console, with its login and its host, over the application ``app``."""

    app: ASGIApp
    headers: Mapping[str, str]

    @staticmethod
    def of(app: ASGIApp, headers: Mapping[str, str]) -> RestCalls:
        """``headers`` are those of the request to the console."""
        return RestCalls(app, {name: headers[name] for name in _SENT_ON if name in headers})

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """The JSON of the answer; None without a body. Raises HerderError with the status and the message of a refusal."""
        import httpx  # noqa: PLC0415 (the import takes 80 ms; only pages need it)

        content = b"" if body is None else orjson.dumps(body)
        kind = {} if body is None else {"Content-Type": "application/json"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://console", timeout=None) as client:  # noqa: S113 (the interface limits itself)
            answer = await client.request(method, path, content=content, headers={**self.headers, **kind})
        return _json(answer)

    async def of_connector(self, method: str, name: str, path: str = "", body: object = None) -> Any:
        """As :meth:`call`, for ``/connectors/{name}{path}``."""
        return await self.call(method, f"/connectors/{encode(name)}{path}", body)


def _json(answer: httpx.Response) -> Any:
    content = orjson.loads(answer.content) if answer.content and "json" in answer.headers.get("content-type", "") else None
    if answer.is_success:
        return content
    message = content["message"] if isinstance(content, dict) and "message" in content else answer.text
    raise HerderError(answer.status_code, str(message))
