"""Contexts out of properties; shakes hands in memory to see what they mean."""

from __future__ import annotations

import ssl

import pytest

from connector.errors import CdcError
from tests.support.project import TLS
from workers.rest.tls import server_context
from workers.settings.worker_settings import SettingsError, WorkerSettings

PEM = TLS
PREFIX = "listeners.https."
SERVER = {f"{PREFIX}ssl.keystore.type": "PEM", f"{PREFIX}ssl.keystore.location": str(PEM / "server.pem")}
TRUST = {f"{PREFIX}ssl.truststore.type": "PEM", f"{PREFIX}ssl.truststore.location": str(PEM / "authority.pem")}


def parts(name: str) -> tuple[str, str]:
    key, end, chain = (PEM / name).read_text().partition("PRIVATE KEY-----\n-----BEGIN CERTIFICATE")
    return key + end.partition("\n")[0], end.partition("\n")[2] + chain


def shake(context: ssl.SSLContext, *, certificate: str | None = None, version: ssl.TLSVersion | None = None) -> str | None:
    """The version agreed on; SSLError when either side refuses the other."""
    mine = ssl.create_default_context(cafile=str(PEM / "authority.pem"))
    if version:
        mine.minimum_version = mine.maximum_version = version
    if certificate:
        mine.load_cert_chain(PEM / certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = mine.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    server = context.wrap_bio(to_server, to_client, server_side=True)
    waiting = [client, server]
    for _ in range(10):
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                continue
    assert not waiting
    return server.version()


def test_a_file_with_key_and_chain() -> None:
    assert shake(server_context(SERVER, PREFIX)) == "TLSv1.3"


@pytest.mark.parametrize("one_line", [False, True])
def test_key_and_chain_in_the_properties(one_line: bool) -> None:
    key, chain = ((" ".join(part.split("\n")) if one_line else part) for part in parts("server.pem"))
    context = server_context({f"{PREFIX}ssl.keystore.key": key, f"{PREFIX}ssl.keystore.certificate.chain": chain}, PREFIX)
    assert shake(context) == "TLSv1.3"


def test_an_encrypted_key() -> None:
    properties = {**SERVER, f"{PREFIX}ssl.keystore.location": str(PEM / "server_encrypted.pem")}
    assert shake(server_context({**properties, f"{PREFIX}ssl.key.password": "changeit"}, PREFIX)) == "TLSv1.3"
    for wrong in ({}, {f"{PREFIX}ssl.key.password": "hunter2"}):
        with pytest.raises(CdcError, match=r"listeners\.https\.ssl\.keystore.*ssl\.key\.password") as caught:
            server_context({**properties, **wrong}, PREFIX)
        assert "hunter2" not in str(caught.value)


def test_properties_without_a_prefix_serve_when_none_has_it() -> None:
    bare = {key.removeprefix(PREFIX): value for key, value in SERVER.items()}
    assert shake(server_context(bare, PREFIX)) == "TLSv1.3"
    with pytest.raises(CdcError, match=r"listeners\.https\.ssl\.keystore\.location is missing"):
        server_context({**bare, f"{PREFIX}ssl.client.auth": "none"}, PREFIX)


@pytest.mark.parametrize(
    ("wanted", "certificate", "passes"),
    [
        ("none", None, True),
        ("requested", None, True),
        ("requested", "client.pem", True),
        ("required", "client.pem", True),
        ("required", None, False),
    ],
)
def test_certificates_of_clients(wanted: str, certificate: str | None, passes: bool) -> None:
    context = server_context({**SERVER, **TRUST, f"{PREFIX}ssl.client.auth": wanted}, PREFIX)
    if passes:
        assert shake(context, certificate=certificate)
    else:
        with pytest.raises(ssl.SSLError):
            shake(context, certificate=certificate)


def test_without_a_truststore_only_the_own_chain_is_trusted() -> None:
    context = server_context({**SERVER, f"{PREFIX}ssl.client.auth": "required"}, PREFIX)
    with pytest.raises(ssl.SSLError):
        shake(context, certificate="client.pem")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_versions(version: ssl.TLSVersion) -> None:
    context = server_context({**SERVER, f"{PREFIX}ssl.enabled.protocols": "TLSv1.3"}, PREFIX)
    if version is ssl.TLSVersion.TLSv1_3:
        assert shake(context, version=version) == "TLSv1.3"
    else:
        with pytest.raises(ssl.SSLError):
            shake(context, version=version)
    assert shake(server_context(SERVER, PREFIX), version=version)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ssl.keystore.type": "JKS"}, r"ssl\.keystore\.type.*keytool"),
        ({"ssl.keystore.type": "PKCS12"}, r"ssl\.keystore\.type.*openssl pkcs12"),
        ({"ssl.truststore.location": "/x.jks"}, r"Invalid value JKS .*ssl\.truststore\.type"),
        ({"ssl.keystore.location": "/nowhere.pem"}, r"ssl\.keystore\.\*.*No such file"),
        ({"ssl.keystore.location": str(PEM / "authority.pem")}, r"ssl\.keystore\.\*"),
        ({"ssl.client.auth": "maybe"}, r"ssl\.client\.auth"),
        ({"ssl.client.auth": "required", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/nowhere"}, r"ssl\.truststore\.\*"),
        ({"ssl.enabled.protocols": "TLSv1.1"}, r"ssl\.enabled\.protocols"),
    ],
)
def test_unusable_entries_are_named(changed: dict[str, str], message: str) -> None:
    with pytest.raises(CdcError, match=message):
        server_context({**SERVER, **{PREFIX + key: value for key, value in changed.items()}}, PREFIX)


@pytest.mark.parametrize("prefix", [PREFIX, "admin.listeners.https."])
def test_the_worker_s_sorting_of_these_keys(prefix: str) -> None:
    for key in ("ssl.cipher.suites", "ssl.engine.factory.class", "ssl.keystore.password", "ssl.truststore.password"):
        with pytest.raises(SettingsError, match=prefix + key):
            WorkerSettings.from_properties({prefix + key: "x"})
    settings = WorkerSettings.from_properties({prefix + "ssl.protocol": "TLS", prefix + "ssl.cipher.suites": "", prefix + "ssl.odd": "1"})
    assert settings.ignored == (prefix + "ssl.protocol", prefix + "ssl.cipher.suites")
    assert settings.unknown == (prefix + "ssl.odd",)


def test_a_listener_of_https_needs_its_certificate_and_another_none() -> None:
    assert WorkerSettings.from_properties({"listeners": "http://:1", **SERVER}).http.tls is None
    both = {"listeners": "http://:1,https://:2", "admin.listeners": "https://:3", **SERVER}
    with pytest.raises(SettingsError, match=r"no certificate.*ssl\.keystore\.location is missing"):
        WorkerSettings.from_properties(both)
    admin = {f"admin.{key}": value for key, value in SERVER.items()}
    http = WorkerSettings.from_properties({**both, **admin}).http
    assert http.tls is not None
    assert http.admin_tls is not None
