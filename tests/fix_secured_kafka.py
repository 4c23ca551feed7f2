"""A broker that is reached by login and certificate only, and a token endpoint that it believes."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import pytest

from tests.support.project import TLS
from workers.quickstart.embedded.kafka import EmbeddedKafka
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.runtime import KafkaRuntime

PEM = TLS
SECURITY = "org.apache.kafka.common.security."
USERS = {"alice": "alice-secret", "bob": "bob-secret", "broker": "broker-secret"}
SESSION_MS = 5_000
"""How long a login lasts where it is short: connections are cut again and again while a test runs."""


@dataclass(frozen=True)
class SecuredKafka:
    """Addresses by what they ask for; ``plain`` asks for nothing and is the test's own way in."""

    plain: str
    login: str
    login_tls: str
    mutual: str
    token: str
    short: str


@dataclass
class TokenEndpoint:
    """Answers the client credentials flow with unsigned tokens of a few seconds, over TLS."""

    port: int
    asked: list[dict[str, str]] = field(default_factory=list)
    refuse: bool = False

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/token"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        own = next((line for line in head if line.lower().startswith("authorization: ")), "")
        body = (await reader.readexactly(int(headers["content-length"]))).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        login = base64.b64decode(own.rpartition(" ")[2]).decode()
        self.asked.append({**form, "login": login, "path": head[0]})
        good = login == "understudy:oauth-secret" and not self.refuse
        answer = {"access_token": unsigned("alice", 3)} if good else {"error": "invalid_client"}
        data = json.dumps(answer).encode()
        status = "200 OK" if good else "401 Unauthorized"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
        await writer.drain()
        writer.close()


def unsigned(subject: str, seconds: float) -> str:
    """A token as Kafka's unsecured validator takes it."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + seconds, "scope": "kafka"})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


@pytest.fixture(scope="session")
def secured_kafka() -> Iterator[SecuredKafka]:
    ports = {name: free_port() for name in ("PLAINTEXT", "LOGIN", "LOGINTLS", "MUTUAL", "TOKEN", "SHORT", "CONTROLLER")}
    places = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    plain = f'{SECURITY}plain.PlainLoginModule required username="broker" password="broker-secret" {users};'
    settings = {
        "listeners": ",".join(places.values()),
        "advertised.listeners": ",".join(place for name, place in places.items() if name != "CONTROLLER"),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,LOGINTLS:SASL_SSL,"
        "MUTUAL:SSL,TOKEN:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT",
        "auto.create.topics.enable": "false",
        "listener.name.short.oauthbearer.connections.max.reauth.ms": str(SESSION_MS),
        "listener.name.mutual.ssl.client.auth": "required",
    }
    for listener in ("token", "short"):
        settings[f"listener.name.{listener}.sasl.enabled.mechanisms"] = "OAUTHBEARER"
        settings[f"listener.name.{listener}.oauthbearer.sasl.jaas.config"] = (
            f"{SECURITY}oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="broker" unsecuredValidatorAllowableClockSkewMs="1000";'
        )
    for listener in ("login", "logintls"):
        settings[f"listener.name.{listener}.sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
        settings[f"listener.name.{listener}.plain.sasl.jaas.config"] = plain
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            settings[f"listener.name.{listener}.{mechanism}.sasl.jaas.config"] = f"{SECURITY}scram.ScramLoginModule required;"
    for listener in ("logintls", "mutual"):
        prefix = f"listener.name.{listener}.ssl."
        settings |= {prefix + "keystore.type": "PEM", prefix + "keystore.location": str(PEM / "server.pem")}
        settings |= {prefix + "truststore.type": "PEM", prefix + "truststore.location": str(PEM / "authority.pem")}
    with EmbeddedKafka(port=ports["PLAINTEXT"], settings=settings) as broker:
        add_scram_user(broker, "alice")
        yield SecuredKafka(
            *(f"127.0.0.1:{ports[name]}" for name in ("PLAINTEXT", "LOGIN", "LOGINTLS", "MUTUAL", "TOKEN", "SHORT")),
        )


def add_scram_user(broker: EmbeddedKafka, name: str) -> None:
    """What ``kafka-configs`` does."""
    # Two calls: one may change a user once only.
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        words = ["--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "users", "--entity-name", name]
        words += ["--add-config", f"{mechanism}=[iterations=4096,password={USERS[name]}]"]
        folder = broker.folder / mechanism
        folder.mkdir()
        command = KafkaRuntime.prepare().command(folder, "kafka.admin.ConfigCommand", *words)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def token_endpoint() -> Iterator[TokenEndpoint]:
    loop = asyncio.new_event_loop()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM / "server.pem")
    endpoint = TokenEndpoint(free_port())
    server = loop.run_until_complete(asyncio.start_server(endpoint.answer, "localhost", endpoint.port, ssl=context))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield endpoint
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
