"""The client of schema registries: registers and looks up what converters need to know (:mod:`connector.converters.registry`).

Answers that may be different later (no connection, 408, 429, 500, 502 to 504) are asked for again, with growing pauses, and then from the
next URL. Errors name the subject and what to do. They hold no credentials, and of the registry's own words only the first line.
"""

from __future__ import annotations

import asyncio
import base64
import random
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import httpx
import orjson

from connector.converters.converter import SchemaRequest
from connector.converters.registry import RegisteredSchema, Registry, RegistrySettings, SchemaAsk
from connector.errors import CdcError, ErrorKind
from connector.io.kafka.sasl import jaas_options
from connector.io.kafka.tls import client_context
from connector.io.registry_apis import APIS, RegistryApi
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_AGAIN: Final = frozenset({408, 429, 500, 502, 503, 504})
_NO_LOGIN: Final = frozenset({401, 403})
_TOKEN_BUFFER_SECONDS: Final = 300
_MOST_WORDS: Final = 300


class RegistryClients:
    """The clients of one task: one for each registry, with its own connections."""

    def __init__(self, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> None:
        self._clients: dict[RegistrySettings, RegistryClient] = {}
        self._transport = transport

    async def resolve(self, registry: object, request: SchemaRequest) -> None:
        """Ask what SchemaNeededError says must be asked, and tell its ``registry`` the answer. Raises CdcError."""
        if not isinstance(registry, Registry):
            raise TypeError("It is no schema registry")
        client = self._clients.get(registry.settings)
        if client is None:
            client = self._clients[registry.settings] = RegistryClient(registry.settings, self._transport)
        registry.learn(request, await client.resolve(request))

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()


class RegistryClient:
    """The client of one registry."""

    def __init__(self, settings: RegistrySettings, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> None:
        self._settings = settings
        self._api: RegistryApi = APIS[settings.api]
        self._urls = [_split(url) for url in settings.urls]
        self._login = _login(settings)
        self._token = ""
        self._token_until = 0.0
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
            raise _unknown(request.subject, ask)
        LOG.info("schema known", subject=request.subject, id=found.id)
        self._known[request] = found
        return found

    async def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str], subject: str, absent: tuple[int, ...]) -> Any:
        """Return the parsed answer, None for a status among ``absent``."""
        last: CdcError | None = None
        for url, login in self._urls:
            for attempt in range(self._settings.retries + 1):
                if last is not None and attempt:
                    await asyncio.sleep(self._pause(attempt - 1))
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
                    raise CdcError(ErrorKind.CONFIG_INVALID, f"The URL of the schema registry is malformed: {_shown(url)}") from None
                except httpx.HTTPError as problem:
                    last = _unreachable(subject, url, problem)
                    continue
                if answer.status_code in absent:
                    return None
                if answer.is_success:
                    return orjson.loads(answer.content) if "json" in answer.headers.get("content-type", "json") else answer.text
                last = _refused(subject, url, answer)
                if answer.status_code not in _AGAIN:
                    raise last
        if last is None:
            raise CdcError(ErrorKind.CONFIG_INVALID, "No URL of a schema registry is configured")
        raise last

    def _pause(self, attempt: int) -> float:
        """Seconds before the next attempt: doubled each time, up to the limit, and spread by up to a fifth."""
        longest: int = min(self._settings.retry_ms << min(attempt, 20), self._settings.retry_most_ms)
        return longest / 1000 * random.uniform(0.8, 1.0)  # noqa: S311 (spreads load, keeps no secret)

    async def _authorization(self, login: str) -> dict[str, str]:
        if self._settings.token:
            return {"Authorization": f"Bearer {self._settings.token}"}
        if self._settings.token_endpoint is not None:
            if time.monotonic() >= self._token_until:
                await self._fetch_token()
            return {"Authorization": f"Bearer {self._token}"}
        login = self._login or login
        return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"} if login else {}

    async def _fetch_token(self) -> None:
        endpoint = self._settings.token_endpoint
        if endpoint is None:
            return
        form = {"grant_type": "client_credentials"} | ({"scope": endpoint.scope} if endpoint.scope else {})
        place = urlsplit(endpoint.url).netloc.rpartition("@")[2]
        try:
            answer = await self._http.post(endpoint.url, data=form, auth=(endpoint.client_id, endpoint.client_secret))
            found = answer.json() if answer.is_success else {}
            self._token = str(found["access_token"])
            life = float(found.get("expires_in", 2 * _TOKEN_BUFFER_SECONDS))
        except httpx.HTTPError as problem:
            raise CdcError(
                ErrorKind.SINK_UNREACHABLE,
                f"The token endpoint {place} of the schema registry did not answer: {type(problem).__name__}",
                "Check its URL and the network.",
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CdcError(
                ErrorKind.SINK_PERMISSION,
                f"The token endpoint {place} of the schema registry gave no token (status {answer.status_code})",
                "Check the client's id, its secret and the scope.",
            ) from None
        self._token_until = time.monotonic() + max(life - _TOKEN_BUFFER_SECONDS, life / 2)


def _split(url: str) -> tuple[str, str]:
    """Return a URL without its user, and ``user:password``."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=host)), user


def _login(settings: RegistrySettings) -> str:
    if not settings.login_module:
        return settings.user_info
    _, options = jaas_options(settings.login_module, "PLAIN")
    return f"{options.get('username', '')}:{options.get('password', '')}"


def _tls(settings: RegistrySettings) -> ssl.SSLContext | None:
    """The TLS context, or None where no URL needs one. Raises CdcError(CONFIG_INVALID)."""
    if not any(url.startswith("https:") for url in settings.urls):
        return None
    try:
        return client_context(dict(settings.ssl))
    except CdcError as problem:
        message = f"The TLS options for the schema registry cannot be used: {problem.message}"
        raise CdcError(problem.kind, message, problem.remedy, problem.detail) from None


def _shown(url: str) -> str:
    return _split(url)[0]


def _unreachable(subject: str, url: str, problem: httpx.HTTPError) -> CdcError:
    return CdcError(
        ErrorKind.SINK_UNREACHABLE,
        f"The schema registry {_shown(url)} did not answer about the subject {subject}: {type(problem).__name__}",
        "Check that it runs, its URL, and the network.",
    )


def _refused(subject: str, url: str, answer: httpx.Response) -> CdcError:
    said = f"status {answer.status_code}{_words(answer)}"
    if answer.status_code in _NO_LOGIN:
        return CdcError(
            ErrorKind.SINK_PERMISSION,
            f"The schema registry {_shown(url)} does not permit access to the subject {subject}",
            "Check the converter's credentials and the user's rights on the subject.",
            said,
        )
    if answer.status_code == httpx.codes.CONFLICT:
        return CdcError(
            ErrorKind.SCHEMA,
            f"The schema registry refuses the new schema of the subject {subject}, because it is not compatible with an earlier one",
            "Change the subject's compatibility level, or undo the change of the table, then restart the task.",
            said,
        )
    if answer.status_code in _AGAIN:
        return CdcError(
            ErrorKind.SINK_UNREACHABLE,
            f"The schema registry {_shown(url)} could not answer about the subject {subject}",
            "Check its log.",
            said,
        )
    return CdcError(
        ErrorKind.SCHEMA,
        f"The schema registry {_shown(url)} refuses the schema of the subject {subject}",
        "Check the URL, the names of tables and columns, and the registry's rules.",
        said,
    )


def _words(answer: httpx.Response) -> str:
    """The registry's own message. It speaks of schemas, and these hold no values but defaults; only its first line is quoted."""
    try:
        fields = orjson.loads(answer.content)
        message = str(fields.get("message") or fields.get("title") or fields.get("detail") or "")
    except (ValueError, AttributeError):
        return ""
    first = message.partition("\n")[0].partition("{")[0][:_MOST_WORDS].strip()
    return f": {first}" if first else ""


def _unknown(subject: str, ask: SchemaAsk) -> CdcError:
    what = f"no schema with the id {ask.schema_id}" if ask.action == "by id" else "no such schema"
    remedy = "Register it, or let the converter do so (auto.register.schemas=true; Apicurio: apicurio.registry.auto-register=true)."
    return CdcError(ErrorKind.SCHEMA, f"The schema registry has {what} under the subject {subject}", remedy)
