"""The client of schema registries: registers and looks up what converters need to know (:mod:`connector.converters.registry`).

Answers that may be different later (no connection, 408, 429, 500, 502 to 504) are asked for again, with growing pauses, and then from the
next URL. The URL that answered last is asked first.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx
import orjson

from connector.converters.converter import SchemaRequest
from connector.converters.registry import RegisteredSchema, Registry, RegistrySettings, SchemaAsk, is_newest
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sasl import jaas_options
from connector.io.kafka.tls import client_context
from connector.io.registry_apis import APIS, RegistryApi
from connector.io.registry_errors import AGAIN, refused, split_url, unknown, unreachable
from connector.io.registry_token import RegistryToken, pause_seconds
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_LEAST_USE: Final = 10
"""The newest schema serves at least this many times as long as it took to get it: a record may need several answers at the same time."""
_LONGEST_LEAST_USE: Final = 60.0
"""This least time in seconds at most: an answer that came after many attempts must not serve for hours."""


class RegistryClients:
    """The clients of one task: one for each registry, with its own connections."""

    def __init__(self, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> None:
        self._clients: dict[RegistrySettings, RegistryClient] = {}
        self._transport = transport
        self._timers: dict[Registry, asyncio.TimerHandle] = {}

    async def resolve(self, registry: object, request: SchemaRequest) -> None:
        """Ask what SchemaNeededError says must be asked, and tell its ``registry`` the answer. Raises CdcError."""
        if not isinstance(registry, Registry):
            raise TypeError("It is no schema registry")
        client = self._clients.get(registry.settings)
        if client is None:
            client = self._clients[registry.settings] = RegistryClient(registry.settings, self._transport)
        loop = asyncio.get_running_loop()
        began = loop.time()
        registry.learn(request, await client.resolve(request))
        if registry.newest_seconds >= 0 and is_newest(request) and registry not in self._timers:
            least = min(_LEAST_USE * (loop.time() - began), _LONGEST_LEAST_USE)
            serves = max(registry.newest_seconds, least)
            self._timers[registry] = loop.call_later(serves, self._forget, registry)

    def _forget(self, registry: Registry) -> None:
        del self._timers[registry]
        registry.forget_newest()

    async def close(self) -> None:
        """Close all connections."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for client in self._clients.values():
            await client.close()
        self._clients.clear()


class RegistryClient:
    """The client of one registry."""

    def __init__(self, settings: RegistrySettings, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> None:
        self._settings = settings
        self._api: RegistryApi = APIS[settings.api]
        self._urls = [split_url(url) for url in settings.urls]
        self._login = _login(settings)
        self._first = 0
        """The URL that answered last."""
        self._known: dict[SchemaRequest, RegisteredSchema] = {}
        context = _tls(settings)
        self._http = httpx.AsyncClient(
            verify=True if context is None else context,
            timeout=httpx.Timeout(settings.read_ms / 1000 or None, connect=settings.connect_ms / 1000 or None),
            headers=dict(settings.headers),
            proxy=settings.proxy or None,
            trust_env=False,
            transport=None if transport is None else transport(),
        )
        endpoint = settings.token_endpoint
        self._token = None if endpoint is None else RegistryToken(endpoint, settings, self._http)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def resolve(self, request: SchemaRequest) -> RegisteredSchema:
        """Register or look up one schema, and before it those that it refers to. Raises CdcError."""
        known = self._known.get(request)
        if known is not None:
            return known
        ask = request.ask
        if not isinstance(ask, SchemaAsk):
            raise TypeError("The request is not one for a schema registry")
        references = [(reference.name, reference.request, await self.resolve(reference.request)) for reference in ask.references]
        conversation = self._api(request.subject, ask, references)
        answer: Any = None
        try:
            while True:
                call = conversation.send(answer)
                answer = await self._send(call.method, call.path, call.body, call.headers, request.subject, call.absent)
        except StopIteration as done:
            found: RegisteredSchema | None = done.value
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            raise CdcError(
                ErrorKind.SCHEMA,
                f"The schema registry's answer about the subject {request.subject} has another form than expected",
                "Check that the URL names the API of the registry that the converter is made for.",
                type(problem).__name__,
            ) from problem
        if found is None:
            raise unknown(request.subject, ask)
        LOG.info("schema known", subject=request.subject, id=found.id)
        if ask.action != "latest":
            # The converter's cache knows how long the newest schema serves.
            self._known[request] = found
        return found

    async def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str], subject: str, absent: tuple[int, ...]) -> Any:
        """Return the parsed answer, None for a status among ``absent``."""
        last: CdcError | None = None
        for number in (*range(self._first, len(self._urls)), *range(self._first)):
            url, login = self._urls[number]
            for attempt in range(self._settings.retries + 1):
                if last is not None and attempt:
                    await asyncio.sleep(pause_seconds(self._settings, attempt - 1))
                try:
                    answer = await self._http.request(
                        method,
                        url + path,
                        content=body if isinstance(body, bytes | None) else orjson.dumps(body),
                        headers={
                            "Accept": "application/json",
                            "Content-Type": "application/json",
                            **headers,
                            **await self._authorization(login),
                        },
                    )
                except httpx.InvalidURL:
                    raise CdcError(ErrorKind.CONFIG_INVALID, f"The URL of the schema registry is malformed: {url}") from None
                except httpx.HTTPError as problem:
                    last = unreachable(f"schema registry {url}", f" about the subject {subject}", problem, self._settings.api)
                    if last.kind is not ErrorKind.SINK_UNREACHABLE:
                        break
                    continue
                if answer.status_code not in AGAIN:
                    self._first = number
                if answer.status_code in absent:
                    return None
                if answer.is_success:
                    return orjson.loads(answer.content) if "json" in answer.headers.get("content-type", "json") else answer.text
                last = refused(subject, url, answer)
                if answer.status_code not in AGAIN:
                    raise last
        if last is None:
            raise CdcError(ErrorKind.CONFIG_INVALID, "No URL of a schema registry is configured")
        raise last

    async def _authorization(self, login: str) -> dict[str, str]:
        if self._settings.token:
            return {"Authorization": f"Bearer {self._settings.token}"}
        if self._token is not None:
            return {"Authorization": f"Bearer {await self._token.value()}"}
        login = self._login or login
        return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"} if login else {}


def _login(settings: RegistrySettings) -> str:
    if not settings.login_module:
        return settings.user_info
    _, options = jaas_options(settings.login_module, "PLAIN")
    return f"{options.get('username', '')}:{options.get('password', '')}"


def _tls(settings: RegistrySettings) -> ssl.SSLContext | None:
    """The TLS context, or None where no URL needs one. Raises CdcError(CONFIG_INVALID)."""
    endpoint = settings.token_endpoint
    urls = (*settings.urls, *(() if endpoint is None else (endpoint.url,)))
    if not any(url.lower().startswith("https:") for url in urls):
        return None
    try:
        return client_context(dict(settings.ssl))
    except CdcError as problem:
        message = f"The TLS options for the schema registry cannot be used: {problem.message}"
        raise CdcError(problem.kind, message, problem.remedy, problem.detail) from None
