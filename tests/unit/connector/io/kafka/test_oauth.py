"""Tokens for SASL OAUTHBEARER: where they come from, when they are fetched again, what is refused."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from aiokafka.errors import KafkaError, SaslAuthenticationFailed

from connector.errors import CdcError
from connector.io.kafka.oauth import Schedule, Tokens, TokenUnavailableError, token_provider
from tests.support.each_case import each_case

PACKAGE = "org.apache.kafka.common.security.oauthbearer."
SECURED = {"sasl.login.callback.handler.class": PACKAGE + "OAuthBearerLoginCallbackHandler"}
CLIENT = {"clientId": "me", "clientSecret": "hunter2"}


def jwt(seconds: float, **claims: object) -> str:
    now = time.time()
    parts = ({"alg": "none"}, {"sub": "alice", "iat": now, "exp": now + seconds, **claims})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + ".c2ln"


def claims_of(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


class Endpoint:
    """Answers one prepared answer after the other, the last one again and again; keeps what was asked."""

    def __init__(self, answers: Sequence[tuple[int, object]]) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[dict[str, str], dict[str, str]]] = []
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        form = {name: values[0] for name, values in parse_qs((await reader.readexactly(int(headers["content-length"]))).decode()).items()}
        self.asked.append((form, headers))
        status, body = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def endpoint(*answers: tuple[int, object]) -> AsyncIterator[Endpoint]:
    served = Endpoint(answers)
    async with await asyncio.start_server(served.answer, "127.0.0.1", 0) as server:
        served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/token"
        yield served


def provider(url: str, options: dict[str, str] | None = None, /, **more: str) -> Any:
    own = {key.replace("_", "."): value for key, value in more.items()}
    return token_provider({**SECURED, "sasl.oauthbearer.token.endpoint.url": url, **own}, CLIENT if options is None else options)


async def test_id_and_secret() -> None:
    token = jwt(600)
    async with endpoint((200, {"access_token": token})) as served:
        assert await provider(served.url, {**CLIENT, "scope": "a b"}).token() == token
        form, headers = served.asked[0]
        assert form == {"grant_type": "client_credentials", "scope": "a b"}
        assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"me:hunter2"
        assert headers["content-type"] == "application/x-www-form-urlencoded"
        # Properties win over options, and may be encoded.
        properties = {
            "sasl_oauthbearer_client_credentials_client_id": "you",
            "sasl_oauthbearer_client_credentials_client_secret": "p:ä",
            "sasl_oauthbearer_header_urlencode": "true",
        }
        await provider(served.url, **properties).token()
        assert base64.b64decode(served.asked[1][1]["authorization"].removeprefix("Basic ")) == b"you:p%3A%C3%A4"


async def test_an_assertion_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "assertion.jwt"
    file.write_text("signed\n")
    async with endpoint((201, {"id_token": jwt(600)})) as served:
        await provider(served.url, {"clientId": "me"}, sasl_oauthbearer_assertion_file=str(file)).token()
        retriever = {"sasl_oauthbearer_jwt_retriever_class": PACKAGE + "JwtBearerJwtRetriever"}
        await provider(served.url, {}, sasl_oauthbearer_assertion_file=str(file), **retriever).token()
        first, second = (form for form, _ in served.asked)
    assert first == {
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": "signed",
        "grant_type": "client_credentials",
        "client_id": "me",
    }
    assert second == {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "signed"}


async def test_a_token_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token of mine.jwt"
    file.write_text(jwt(600) + "\n")
    found = provider(file.as_uri(), {"extension_logicalCluster": "lkc-1"})
    assert await found.token() == file.read_text().strip()
    assert found.extensions() == {"logicalCluster": "lkc-1"}
    with pytest.raises(TokenUnavailableError, match="No such file"):
        await provider((tmp_path / "none").as_uri()).token()


async def test_an_unsecured_token() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "alice",
        "unsecuredLoginNumberClaim_level": "3",
        "unsecuredLoginListClaim_scope": "|read|write",
        "unsecuredLoginLifetimeSeconds": "60",
        "unsecuredLoginExtension_traceId": "123",
    }
    found = token_provider({}, options)
    token = await found.token()
    claims = claims_of(token)
    assert (claims["sub"], claims["level"], claims["scope"]) == ("alice", 3.0, ["read", "write"])
    assert claims["exp"] - claims["iat"] == 60
    assert token.endswith(".")
    assert found.extensions() == {"traceId": "123"}


async def test_passing_failures_are_tried_again_and_lasting_ones_not() -> None:
    async with endpoint((503, ""), (500, "oops"), (200, {"access_token": jwt(600)})) as served:
        await provider(served.url, sasl_login_retry_backoff_ms="1").token()
        assert len(served.asked) == 3
    async with endpoint((401, {"error": "invalid_client", "error_description": "hunter2"})) as served:
        with pytest.raises(SaslAuthenticationFailed, match=r"answered 401 invalid_client$") as caught:
            await provider(served.url).token()
        assert len(served.asked) == 1
        assert "hunter2" not in str(caught.value)
    async with endpoint((503, "")) as served:
        with pytest.raises(TokenUnavailableError, match="answered 503"):
            await provider(served.url, sasl_login_retry_backoff_max_ms="0").token()
        assert len(served.asked) == 1
    with pytest.raises(TokenUnavailableError, match="did not answer: ConnectError"):
        await provider(served.url, sasl_login_retry_backoff_max_ms="0").token()


@pytest.mark.parametrize("body", [{"access_token": "opaque"}, {"access_token": jwt(600, sub=" ")}, {"token": jwt(600)}, "no json", [1]])
async def test_invalid_tokens_are_not_sent(body: object) -> None:
    async with endpoint((200, body)) as served:
        with pytest.raises(SaslAuthenticationFailed):
            await provider(served.url).token()


async def test_a_token_is_kept_and_fetched_again_and_serves_to_its_end() -> None:
    tokens = [jwt(3600), jwt(7200)]
    given: list[str | KafkaError] = [tokens[0], SaslAuthenticationFailed("not now"), tokens[1]]

    async def retrieve() -> str:
        found = given.pop(0)
        if isinstance(found, KafkaError):
            raise found
        return found

    found = Tokens(retrieve, Schedule(0.8, 0.0, 60, 300), {}, "sub")
    assert [await found.token(), await found.token()] == [tokens[0], tokens[0]]
    found._refresh_at = 0.0
    assert await found.token() == tokens[0]
    assert len(given) == 1
    assert [await found.token(), await found.token()] == [tokens[1], tokens[1]]
    given.append(SaslAuthenticationFailed("not now"))
    found._refresh_at = found._expires = 0.0
    with pytest.raises(SaslAuthenticationFailed):
        await found.token()


@pytest.mark.parametrize(
    ("begins", "expires", "at"),
    [
        (1000, 11000, 9000),  # at 80 %
        (1000, 2000, 1700),  # 300 s before the end
        (0, 1400, 1100),  # of one that is old already
        (-9000, 1400, 1060),  # not sooner than in 60 s
        (1000, 1100, 1080),  # too short for either
    ],
)
def test_schedule(begins: float, expires: float, at: float) -> None:
    assert Schedule(0.8, 0.0, 60, 300).refresh_at(1000, begins, expires) == pytest.approx(at)


@each_case(
    ("properties", "options", "reported"),
    [
        ({}, {}, "names no principal.*unsecuredLoginStringClaim_sub"),
        ({}, {"unsecuredLoginStringClaim_exp": "1"}, "claim exp"),
        ({}, {"unsecuredLoginNumberClaim_a": "x"}, "unsecuredLoginNumberClaim_a"),
        ({}, {"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginExtension_auth": "x"}, "SASL extension"),
        ({"sasl.login.callback.handler.class": "a.B"}, {}, r"sasl\.login\.callback\.handler\.class"),
        ({"sasl.login.class": "a.B"}, {}, r"sasl\.login\.class"),
        ({"sasl.oauthbearer.jwt.validator.class": "a.B"}, {}, r"jwt\.validator\.class"),
        (SECURED, CLIENT, r"Invalid value null .*token\.endpoint\.url"),
        ({**SECURED, "sasl.oauthbearer.token.endpoint.url": "ftp://x"}, CLIENT, r"token\.endpoint\.url"),
        ({**SECURED, "sasl.oauthbearer.token.endpoint.url": "http://x"}, {"clientId": "a"}, r"client\.secret is missing"),
        ({**SECURED, "sasl.oauthbearer.token.endpoint.url": "http://x", "sasl.oauthbearer.assertion.claim.iss": "a"}, CLIENT, "signed"),
        (
            {
                **SECURED,
                "sasl.oauthbearer.token.endpoint.url": "http://x",
                "sasl.oauthbearer.jwt.retriever.class": PACKAGE + "FileJwtRetriever",
            },
            CLIENT,
            "needs a URL of file",
        ),
        ({**SECURED, "sasl.login.refresh.window.factor": "2"}, CLIENT, r"refresh\.window\.factor.*0\.5 to 1"),
        (
            {**SECURED, "sasl.oauthbearer.token.endpoint.url": "https://x"},
            {**CLIENT, "ssl.truststore.location": "/x.jks"},
            r"ssl\.truststore\.type",
        ),
    ],
)
def test_unusable_entries_are_named(properties: dict[str, str], options: dict[str, str], reported: str) -> None:
    with pytest.raises(CdcError, match=reported) as caught:
        token_provider(properties, options)
    assert "hunter2" not in str(caught.value)
