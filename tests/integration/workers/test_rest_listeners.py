"""A worker with all HTTP settings over real sockets: http and https, login, CORS, added headers, separate listeners for /admin."""

from __future__ import annotations

import os
import signal
import ssl
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.fix_worker import SECONDS, properties_of
from tests.support.project import TLS
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until
from workers.rest.login import EXTENSION, MODULE, PROPERTY

PEM = TLS
ALICE = ("alice", "secret")
PAGE = "http://console.example"


@dataclass(frozen=True)
class Offered:
    """Where the worker listens."""

    http: str
    https: str
    admin: str
    admin_https: str
    process: Process


def trusting(certificate: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(PEM / "authority.pem"))
    if certificate:
        context.load_cert_chain(PEM / certificate)
    return context


@pytest.fixture(scope="module")
def offered(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Offered]:
    folder = tmp_path_factory.mktemp("listeners")
    http, https, admin, admin_https = (f"{scheme}://127.0.0.1:{free_port()}" for scheme in ("http", "https", "http", "https"))
    (folder / "users.properties").write_text("alice=secret\n")
    (folder / "jaas.conf").write_text(f'KafkaConnect {{ {MODULE} required file="{folder / "users.properties"}"; }};\n')
    properties = properties_of(f"test-{uuid.uuid4().hex[:12]}", kafka_bootstrap) | {
        "listeners": f"{https},{http}",
        "admin.listeners": f"{admin},{admin_https}",
        "rest.extension.classes": EXTENSION,
        "access.control.allow.origin": "http://.*.example",
        "access.control.allow.methods": "GET,PUT",
        "response.http.headers.config": '"set Cache-Control: no-cache, no-store"',
    }
    for prefix, wanted in (("listeners.https.", "required"), ("admin.listeners.https.", "none")):
        properties[f"{prefix}ssl.client.auth"] = wanted
        properties[f"{prefix}ssl.keystore.type"] = properties[f"{prefix}ssl.truststore.type"] = "PEM"
        properties[f"{prefix}ssl.keystore.location"] = str(PEM / "server_encrypted.pem")
        properties[f"{prefix}ssl.key.password"] = "changeit"
        properties[f"{prefix}ssl.truststore.location"] = str(PEM / "authority.pem")
    (folder / "worker.properties").write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    environment = {**os.environ, "KAFKA_OPTS": f"-Xmx1g -D{PROPERTY}={folder / 'jaas.conf'}"}
    command = [sys.executable, "-P", "-m", "workers", "worker", str(folder / "worker.properties")]
    process = Process(command, folder / "worker.log", environment=environment)

    def healthy() -> bool:
        assert process.running, f"the worker ended at its start:\n{process.last_words()}"
        try:
            return httpx.get(f"{http}/health", auth=ALICE).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    wait_until(healthy, lambda: f"the worker to be healthy\n{process.last_words()}", SECONDS)
    yield Offered(http, https, admin, admin_https, process)
    assert process.stop(signal.SIGTERM) == 0


def test_login_on_both_kinds_of_listeners(offered: Offered) -> None:
    for base in (offered.http, offered.https):
        with httpx.Client(base_url=base, verify=trusting("client.pem")) as client:
            refused = client.get("/connectors")
            assert (refused.status_code, refused.text) == (401, "User cannot access the resource.")
            assert refused.headers["cache-control"] == "no-cache, no-store"
            assert client.get("/connectors", auth=("alice", "wrong")).status_code == 401
            assert client.get("/connectors", auth=ALICE).json() == []
            assert client.get("/nowhere").status_code == 404


def test_https_takes_clients_whose_certificate_the_truststore_knows(offered: Offered) -> None:
    with httpx.Client(verify=trusting()) as stranger, pytest.raises(httpx.TransportError):
        stranger.get(offered.https, auth=ALICE)
    # It goes on serving the others.
    with httpx.Client(verify=trusting("client.pem")) as client:
        assert client.get(offered.https, auth=ALICE).json()["version"] == "4.3.0"


def test_calls_with_a_body_pass_over_https(offered: Offered) -> None:
    with httpx.Client(verify=trusting("client.pem"), auth=ALICE) as client:
        refused = client.post(f"{offered.https}/connectors", json={"name": "x", "config": {}})
        assert refused.json() == {"error_code": 400, "message": "Connector config {name=x} contains no connector type"}


def test_a_page_of_another_origin(offered: Offered) -> None:
    asks = {"Origin": PAGE, "Access-Control-Request-Method": "PUT"}
    preflight = httpx.options(f"{offered.http}/connectors", headers=asks, auth=ALICE)
    reported = {name: value for name, value in preflight.headers.items() if name.startswith("access-control")}
    assert reported == {
        "access-control-allow-origin": PAGE,
        "access-control-allow-methods": "GET,PUT",
        "access-control-allow-headers": "Content-Type",
        "access-control-max-age": "60",
    }
    answer = httpx.get(f"{offered.http}/connectors", headers={"Origin": PAGE}, auth=ALICE)
    assert (answer.headers["access-control-allow-origin"], answer.headers["vary"]) == (PAGE, "Origin")


def test_admin_is_served_by_its_own_listeners_only(offered: Offered) -> None:
    assert httpx.get(f"{offered.http}/admin/loggers", auth=ALICE).status_code == 404
    with httpx.Client(verify=trusting()) as client:
        for base in (offered.admin, offered.admin_https):
            answer = client.get(f"{base}/admin/loggers", headers={"Origin": PAGE})
            assert "root" in answer.json()
            assert {"vary", "cache-control"}.isdisjoint(answer.headers)
            assert client.get(f"{base}/connectors").status_code == 404
        changed = client.put(f"{offered.admin_https}/admin/loggers/connector.runner.task", json={"level": "DEBUG"})
        assert changed.json() == ["connector.runner.task"]


def test_the_log_has_addresses_and_no_secret(offered: Offered) -> None:
    log = offered.process.last_words()
    assert f"{offered.admin_https} (admin)" in log
    assert "worker_id=" + offered.http.removeprefix("http://") in log
    assert "secret" not in log
    assert "changeit" not in log
    assert "Traceback" not in log
