"""Obtains tokens for SASL OAUTHBEARER, as Kafka's Java clients do (KIP-768, KIP-1139, KIP-255).

A token comes from one of three sources: a token endpoint, with a client's credentials or with an assertion from a file; a file that
contains the token; or, for development, this module, which creates a token without a signature. One provider serves all connections of
its client. When most of a token's lifetime is over, the next login fetches a new one.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import url2pathname

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError, KafkaError, SaslAuthenticationFailed

from connector.errors import CdcError, ErrorKind
from connector.io.kafka.tls import client_context
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer."
_HANDLERS: Final = frozenset({_PACKAGE + "OAuthBearerLoginCallbackHandler", _PACKAGE + "secured.OAuthBearerLoginCallbackHandler"})
_UNSECURED: Final = _PACKAGE + "internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
_VALIDATORS: Final = frozenset({_PACKAGE + "DefaultJwtValidator", _PACKAGE + "ClientJwtValidator"})
_RETRIEVER: Final = "sasl.oauthbearer.jwt.retriever.class"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_SIGNED_HERE: Final = ("sasl.oauthbearer.assertion.claim.iss", "sasl.oauthbearer.assertion.private.key.file")
_TIMEOUT_MS: Final = 10_000
"""Default time limit for a token endpoint. Java has none, so a hanging login would silently stop the connector."""
_FINAL_CODES: Final = frozenset({400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 501, 505})
"""HTTP status codes for which a retry is useless."""
_ERROR_CODE: Final = re.compile(r"[\w.-]{1,60}")


class TokenUnavailableError(KafkaConnectionError):  # type: ignore[misc]
    """No token could be obtained, but a retry may succeed. A permanent refusal is aiokafka's SaslAuthenticationFailed."""


Retrieve = Callable[[], Awaitable[str]]
"""Fetches a token. Raises TokenUnavailableError or SaslAuthenticationFailed, whose messages contain no secret."""


def token_provider(properties: Mapping[str, str], options: Mapping[str, str]) -> AbstractTokenProvider:
    """Return the token provider for the ``sasl.*`` properties and the options of the login module.

    Raises CdcError(CONFIG_INVALID), which names the property, for Java classes and for assertions that the client would have to sign.
    """
    _refuse_classes(properties)
    handler = properties.get("sasl.login.callback.handler.class", "").strip()
    unsecured = not handler or handler == _UNSECURED
    prefix = "unsecuredLoginExtension_" if unsecured else "extension_"
    extensions = {key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)}
    for name, value in extensions.items():
        if not re.fullmatch("[A-Za-z]+", name) or name == "auth" or not re.fullmatch(r"[\x21-\x7E \t\r\n]+", value):
            raise _invalid(f"The property sasl.jaas.config holds a SASL extension that cannot be sent: {prefix}{name}")
    schedule = Schedule(
        factor=_decimal(properties, "sasl.login.refresh.window.factor", 0.8, 0.5, 1.0),
        jitter=_decimal(properties, "sasl.login.refresh.window.jitter", 0.05, 0.0, 0.25),
        period=_decimal(properties, "sasl.login.refresh.min.period.seconds", 60, 0, 900),
        buffer=_decimal(properties, "sasl.login.refresh.buffer.seconds", 300, 0, 3600),
    )
    subject = properties.get("sasl.oauthbearer.sub.claim.name", "").strip() or "sub"
    if unsecured:
        subject = options.get("unsecuredLoginPrincipalClaimName", "").strip() or "sub"
        return Tokens(_unsecured(options, subject), schedule, extensions, subject)
    return Tokens(_retriever(properties, options), schedule, extensions, subject)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Decides when a token is fetched again. ``factor`` and ``jitter`` are fractions of its lifetime, ``period`` and ``buffer`` seconds."""

    factor: float
    jitter: float
    period: float
    buffer: float

    def refresh_at(self, now: float, begins: float, expires: float) -> float:
        """Return the time of the next fetch by Kafka's rule: after a fraction of the token's lifetime.

        The time is at least ``period`` from now and at least ``buffer`` before the end. If the remaining lifetime is too short for both, it
        is after that fraction of the remaining lifetime.
        """
        part = self.factor + random.uniform(0, self.jitter)  # noqa: S311 (spreads load, keeps no secret)
        if self.period + self.buffer >= expires - now:
            return now + part * (expires - now)
        return max(min(begins + part * (expires - begins), expires - self.buffer), now + self.period)


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """aiokafka's token provider, which keeps a token while it is valid."""

    def __init__(self, retrieve: Retrieve, schedule: Schedule, extensions: Mapping[str, str], subject: str) -> None:
        self._retrieve = retrieve
        self._schedule = schedule
        self._extensions = dict(extensions)
        self._subject = subject
        self._lock = asyncio.Lock()
        self._token = ""
        self._expires = 0.0
        self._refresh_at = 0.0

    async def token(self) -> str:
        """Return a valid token. Raises KafkaError if none can be obtained."""
        async with self._lock:
            if time.time() >= self._refresh_at:
                try:
                    await self._refresh()
                except KafkaError as problem:
                    if time.time() >= self._expires:
                        raise
                    # The old token is still valid, so an operator has time to correct the cause.
                    LOG.warning("could not refresh the OAuth token", error=str(problem))
            return self._token

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions that are sent with the token."""
        return self._extensions

    async def _refresh(self) -> None:
        token = (await self._retrieve()).strip()
        begins, expires = self._life(token)
        self._token, self._expires = token, expires
        self._refresh_at = self._schedule.refresh_at(time.time(), begins, expires)

    def _life(self, token: str) -> tuple[float, float]:
        """Return the begin and the end of the token's lifetime. As in Java's clients, a token without principal or end is refused."""
        try:
            parts = token.split(".")
            claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
            expires, begins = float(claims["exp"]), float(claims.get("iat", time.time()))
            named = bool(str(claims[self._subject]).strip()) and len(parts) == 3
        except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
            named = False
        if not named:
            raise SaslAuthenticationFailed(f"the token is not a JWT with the claims {self._subject} and exp")
        return begins, expires


def _refuse_classes(properties: Mapping[str, str]) -> None:
    allowed: dict[str, frozenset[str]] = {
        "sasl.login.callback.handler.class": _HANDLERS | {_UNSECURED},
        "sasl.oauthbearer.jwt.validator.class": _VALIDATORS,
        _RETRIEVER: frozenset(
            _PACKAGE + name
            for name in ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever", "JwtBearerJwtRetriever")
        ),
        "sasl.login.class": frozenset(),
        "sasl.client.callback.handler.class": frozenset(),
    }
    for key, names in allowed.items():
        value = properties.get(key, "").strip()
        if value and value not in names:
            remedy = f"use one of {', '.join(sorted(names))}" if names else "remove the property"
            raise _invalid(f"Invalid value {value} for configuration {key}: Java classes cannot be loaded; {remedy}")


def _retriever(properties: Mapping[str, str], options: Mapping[str, str]) -> Retrieve:
    url = properties.get(_ENDPOINT, "").strip()
    scheme = urlsplit(url).scheme.lower()
    kind = properties.get(_RETRIEVER, "").strip().rpartition(".")[2] or "DefaultJwtRetriever"
    if scheme not in ("http", "https", "file"):
        raise _invalid(f"Invalid value {url or 'null'} for configuration {_ENDPOINT}: it must be a URL of http, https or file")
    if kind == "FileJwtRetriever" or (kind == "DefaultJwtRetriever" and scheme == "file"):
        if scheme != "file":
            raise _invalid(f"Invalid value {url} for configuration {_ENDPOINT}: {kind} needs a URL of file")
        return _read(Path(url2pathname(urlsplit(url).path)), "the token")
    if scheme == "file":
        raise _invalid(f"Invalid value {url} for configuration {_ENDPOINT}: {kind} needs a URL of http or https")
    endpoint = _Endpoint(
        url=url,
        context=client_context(options) if scheme == "https" else None,
        connect=_decimal(properties, "sasl.login.connect.timeout.ms", _TIMEOUT_MS) / 1000,
        read=_decimal(properties, "sasl.login.read.timeout.ms", _TIMEOUT_MS) / 1000,
        backoff=_decimal(properties, "sasl.login.retry.backoff.ms", 100) / 1000,
        limit=_decimal(properties, "sasl.login.retry.backoff.max.ms", 10_000) / 1000,
    )
    return _grant(properties, options, endpoint, bearer=kind == "JwtBearerJwtRetriever")


def _grant(properties: Mapping[str, str], options: Mapping[str, str], endpoint: _Endpoint, *, bearer: bool) -> Retrieve:
    """Return the function that requests a token, with an assertion if a file is set, else with id and secret.

    Sources: RFC 6749, 4.4; RFC 7523, 2.1 and 2.2.
    """

    def setting(key: str, option: str) -> str:
        return properties.get(key, "").strip() or options.get(option, "").strip()

    scope = setting("sasl.oauthbearer.scope", "scope")
    form = {"scope": scope} if scope else {}
    client = setting("sasl.oauthbearer.client.credentials.client.id", "clientId")
    file = properties.get("sasl.oauthbearer.assertion.file", "").strip()
    if not file and (bearer or any(properties.get(key, "").strip() for key in _SIGNED_HERE)):
        raise _invalid(
            "The properties sasl.oauthbearer.assertion.* ask for an assertion that is signed here",
            "Let another program write a signed assertion into a file, and name it in sasl.oauthbearer.assertion.file.",
        )
    if file:
        read = _read(Path(file), "the assertion")

        async def with_assertion() -> str:
            assertion = (await read()).strip()
            if bearer:
                return await endpoint.post({"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion, **form})
            kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            own = {"client_assertion_type": kind, "client_assertion": assertion, "grant_type": "client_credentials"}
            return await endpoint.post({**own, **({"client_id": client} if client else {}), **form})

        return with_assertion
    secret = setting("sasl.oauthbearer.client.credentials.client.secret", "clientSecret")
    for value, key in ((client, "client.id"), (secret, "client.secret")):
        if not value:
            raise _invalid(
                f"The property sasl.oauthbearer.client.credentials.{key} is missing",
                'Set it, or write clientId="…" clientSecret="…" into sasl.jaas.config.',
            )
    if properties.get("sasl.oauthbearer.header.urlencode", "false").strip().lower() == "true":
        client, secret = quote_plus(client), quote_plus(secret)
    login = "Basic " + base64.b64encode(f"{client}:{secret}".encode()).decode()

    async def with_secret() -> str:
        return await endpoint.post({"grant_type": "client_credentials", **form}, login)

    return with_secret


def _read(file: Path, what: str) -> Retrieve:
    async def read() -> str:
        try:
            return await asyncio.to_thread(file.read_text, encoding="utf-8")
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "it is not text"
            raise TokenUnavailableError(f"{what} cannot be read from {file}: {reason}") from None

    return read


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """A token endpoint. All times are in seconds."""

    url: str
    context: Any
    connect: float
    read: float
    backoff: float
    limit: float

    async def post(self, form: Mapping[str, str], login: str = "") -> str:
        """Request a token, with retries for at most ``limit`` seconds. Raises KafkaError."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.limit
        wait = self.backoff
        while True:
            try:
                return await self._once(form, login)
            except TokenUnavailableError:
                left = end - loop.time()
                if left <= 0:
                    raise
                await asyncio.sleep(min(wait, left))
                wait *= 2

    async def _once(self, form: Mapping[str, str], login: str) -> str:
        import httpx  # noqa: PLC0415 (50 ms that only who has an endpoint need pay)

        headers = {"Accept": "application/json", "Cache-Control": "no-cache", "Content-Type": "application/x-www-form-urlencoded"}
        if login:
            headers["Authorization"] = login
        limits = httpx.Timeout(self.read or None, connect=self.connect or None)
        place = urlsplit(self.url).netloc.rpartition("@")[2]
        try:
            async with httpx.AsyncClient(verify=self.context or False, timeout=limits, trust_env=False) as client:
                answer = await client.post(self.url, content=urlencode(form), headers=headers)
                body = answer.json() if answer.content else {}
        except httpx.HTTPError as problem:
            raise TokenUnavailableError(f"the token endpoint {place} did not answer: {type(problem).__name__}") from problem
        except ValueError:
            body = {}
        fields = body if isinstance(body, dict) else {}
        if answer.status_code not in (200, 201):
            code = str(fields.get("error", ""))
            reason = f"the token endpoint {place} answered {answer.status_code} {code if _ERROR_CODE.fullmatch(code) else ''}".rstrip()
            raise (SaslAuthenticationFailed if answer.status_code in _FINAL_CODES else TokenUnavailableError)(reason)
        token = fields.get("access_token") or fields.get("id_token")
        if not isinstance(token, str):
            raise SaslAuthenticationFailed(f"the token endpoint {place} sent no access_token")
        return token


def _unsecured(options: Mapping[str, str], subject: str) -> Retrieve:
    """Return a function that creates tokens without a signature. A broker accepts them only in its default configuration (KIP-255)."""
    claims: dict[str, object] = {}
    for option, text in options.items():
        kind, _, name = option.removeprefix("unsecuredLogin").partition("Claim_")
        if not option.startswith("unsecuredLogin") or kind not in ("String", "Number", "List") or not name:
            continue
        if name in ("iat", "exp"):
            raise _invalid(f"The property sasl.jaas.config sets the claim {name}, which is calculated", f"Remove {option}.")
        if kind == "Number":
            claims[name] = _number_of(text, option)
        else:
            claims[name] = text if kind == "String" else text[1:].split(text[0]) if len(text) > 1 else []
    if not claims.get(subject):
        raise _invalid(
            f"The property sasl.jaas.config names no principal: unsecuredLoginStringClaim_{subject} is missing",
            "Set it, or name a token endpoint in sasl.oauthbearer.token.endpoint.url and set sasl.login.callback.handler.class to "
            f"{_PACKAGE}OAuthBearerLoginCallbackHandler.",
        )
    life = _number_of(options.get("unsecuredLoginLifetimeSeconds", "3600"), "unsecuredLoginLifetimeSeconds")

    async def make() -> str:
        now = time.time()
        parts = ({"alg": "none"}, {"exp": now + life, "iat": now, **claims})
        return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."

    return make


def _number_of(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _invalid(f"The property sasl.jaas.config sets {option} to something other than a number") from None


def _decimal(properties: Mapping[str, str], key: str, default: float, least: float = 0, most: float = float("inf")) -> float:
    text = properties.get(key, "").strip() or str(default)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise _invalid(f"Invalid value {text} for configuration {key}: write a number from {least:g} to {most:g}")
    return value


def _invalid(message: str, remedy: str = "") -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, message, remedy)
