"""The token that a registry's OAuth endpoint gives for a client's credentials (RFC 6749, 4.4)."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Final
from urllib.parse import urlsplit

import httpx

from connector.converters.registry import RegistrySettings, TokenEndpoint
from connector.errors import CdcError, ErrorKind
from connector.io.registry_errors import AGAIN, unreachable

_LIFE_SECONDS: Final = 600.0
"""How long a token is used whose end the endpoint does not tell, and its buffer."""
_SERVER_ERROR: Final = 500


class RegistryToken:
    """A token that is fetched when it is needed, and again before it ends."""

    def __init__(self, endpoint: TokenEndpoint, settings: RegistrySettings, http: httpx.AsyncClient) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._http = http
        self._token = ""
        self._until = 0.0

    async def value(self) -> str:
        """Return a token. An endpoint that gives no answer, or 408, 429 or 5xx, is asked again as the registry is. Raises CdcError."""
        if time.monotonic() >= self._until:
            self._token, life = await self._fetch()
            self._until = time.monotonic() + max(life - self._endpoint.buffer_seconds, life / 2)
        return self._token

    async def _fetch(self) -> tuple[str, float]:
        endpoint, attempt = self._endpoint, 0
        form = {"grant_type": "client_credentials"} | ({"scope": endpoint.scope} if endpoint.scope else {})
        server = f"token endpoint {urlsplit(endpoint.url).netloc.rpartition('@')[2]} of the schema registry"
        while True:
            try:
                answer = await self._http.post(endpoint.url, data=form, auth=(endpoint.client_id, endpoint.client_secret))
            except httpx.InvalidURL:
                raise CdcError(ErrorKind.CONFIG_INVALID, "The URL of the schema registry's token endpoint is malformed") from None
            except httpx.HTTPError as problem:
                last = unreachable(server, "", problem, self._settings.api)
            else:
                if answer.status_code not in AGAIN and answer.status_code < _SERVER_ERROR:
                    return _token(server, answer)
                last = CdcError(
                    ErrorKind.SINK_UNREACHABLE, f"The {server} could not answer", "Check its log.", f"status {answer.status_code}"
                )
            if last.kind is not ErrorKind.SINK_UNREACHABLE or attempt >= self._settings.retries:
                raise last
            await asyncio.sleep(pause_seconds(self._settings, attempt))
            attempt += 1


def _token(server: str, answer: httpx.Response) -> tuple[str, float]:
    """Return the token and its life in seconds."""
    try:
        found = answer.json() if answer.is_success else {}
        return str(found["access_token"]), float(found.get("expires_in", _LIFE_SECONDS))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CdcError(
            ErrorKind.SINK_PERMISSION,
            f"The {server} gave no token (status {answer.status_code})",
            "Check the client's id, its secret and the scope.",
        ) from None


def pause_seconds(settings: RegistrySettings, attempt: int) -> float:
    """Seconds before the next attempt: doubled each time, up to the limit, and spread by up to a fifth."""
    longest: int = min(settings.retry_ms << min(attempt, 20), settings.retry_most_ms)
    return longest / 1000 * random.uniform(0.8, 1.0)  # noqa: S311 (spreads load, keeps no secret)
