from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from connector.errors import CdcError, ErrorKind
from tests.support.json_server import JsonServer, json_server
from tests.support.project import TLS
from workers.secret_stores.json_call import Limits
from workers.secret_stores.kubernetes import KubernetesStore
from workers.secret_stores.store import StoreRefusalError, StoreUnreachableError
from workers.settings.config_providers import Provider, Secrets

SECRET = "GET /api/v1/namespaces/shop/secrets/db"
CONFIG_MAP = "GET /api/v1/namespaces/shop/configmaps/db"
PASSWORD = "pässword hunter2"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def api() -> Iterator[JsonServer]:
    """An API server with the Secret db and the ConfigMap db in the namespace shop."""
    with json_server(tls=True) as server:
        server.answers[SECRET] = (200, {"kind": "Secret", "data": {"password": encoded(PASSWORD), "empty": "", "binary": "//79"}})
        server.answers[CONFIG_MAP] = (200, {"kind": "ConfigMap", "data": {"host": "db.example"}, "binaryData": {"b": "//79"}})
        yield server


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """The files of a pod's service account."""
    shutil.copy(TLS / "authority.pem", tmp_path / "ca.crt")
    (tmp_path / "token").write_text("t0ken\n")
    (tmp_path / "namespace").write_text("shop")
    return tmp_path


def store(api: JsonServer, account: Path, kind: str = "Secret", limits: Limits | None = None) -> KubernetesStore:
    environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port)}
    return KubernetesStore(kind, account, environment, limits or Limits())


@pytest.mark.parametrize("path", ["shop/db", "db"])
def test_a_value_of_a_secret_is_decoded(path: str, api: JsonServer, account: Path) -> None:
    assert store(api, account).value(path, "password", {}) == PASSWORD
    assert store(api, account).value(path, "empty", {}) == ""
    assert {request.headers["authorization"] for request in api.requests} == {"Bearer t0ken"}


def test_a_value_of_a_config_map_is_text(api: JsonServer, account: Path) -> None:
    assert store(api, account, "ConfigMap").value("db", "host", {}) == "db.example"


@pytest.mark.parametrize(("kind", "key"), [("Secret", "none"), ("ConfigMap", "none"), ("ConfigMap", "b")])
def test_a_missing_key_is_no_error(kind: str, key: str, api: JsonServer, account: Path) -> None:
    assert store(api, account, kind).value("shop/db", key, {}) is None
    api.answers[SECRET] = api.answers[CONFIG_MAP] = (200, {})
    assert store(api, account, kind).value("shop/db", key, {}) is None


def test_bytes_that_are_not_text_are_refused(api: JsonServer, account: Path) -> None:
    with pytest.raises(StoreRefusalError, match="the key binary of the Secret shop/db is not UTF-8 text"):
        store(api, account).value("shop/db", "binary", {})


def test_the_token_is_read_for_each_request(api: JsonServer, account: Path) -> None:
    one = store(api, account)
    one.value("shop/db", "password", {})
    (account / "token").write_text("renewed")
    one.value("shop/db", "password", {})
    assert [request.headers["authorization"] for request in api.requests] == ["Bearer t0ken", "Bearer renewed"]


def test_one_pass_reads_a_secret_once(api: JsonServer, account: Path) -> None:
    secrets = Secrets({"secrets": Provider("store", store=store(api, account))})
    config = {
        "a": "${secrets:shop/db:password}${secrets:shop/db:empty}",
        "b": "${secrets:shop/db:none}",
        "c": "${secrets:shop/db:password}",
    }
    assert secrets.resolve(config) == {"a": PASSWORD, "b": "${secrets:shop/db:none}", "c": PASSWORD}
    assert len(api.requests) == 1


@pytest.mark.parametrize("path", ["", "shop/db/x", "../db", "shop/..", "Shop/db", "shop//db", "/db", "shop/", "shop/d b", "a%2fb", "-x"])
def test_a_path_that_cannot_be_meant_asks_nobody(path: str, api: JsonServer, account: Path) -> None:
    with pytest.raises(StoreRefusalError, match="the path of a Secret is namespace/name or name"):
        store(api, account).value(path, "password", {})
    assert api.requests == []


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        (401, ErrorKind.CONFIG_INVALID, "does not accept the token of the service account (401) for the Secret db in the namespace shop"),
        (403, ErrorKind.CONFIG_INVALID, "The service account may not get the Secret db in the namespace shop (403)"),
        (404, ErrorKind.CONFIG_INVALID, "The Secret db in the namespace shop does not exist (404)"),
        (302, ErrorKind.CONFIG_INVALID, "answered 302 for the Secret db in the namespace shop"),
        (429, ErrorKind.PROVIDER_UNREACHABLE, "cannot answer now (429) for the Secret db in the namespace shop"),
        (503, ErrorKind.PROVIDER_UNREACHABLE, "cannot answer now (503) for the Secret db in the namespace shop"),
    ],
)
def test_a_refusal_names_property_provider_and_path(status: int, kind: ErrorKind, told: str, api: JsonServer, account: Path) -> None:
    api.answers[SECRET] = (status, {"message": "hunter2", "data": {"password": encoded(PASSWORD)}})
    with pytest.raises(CdcError) as caught:
        Secrets({"vaulted": Provider("store", store=store(api, account))}).look_up({"database.password": "${vaulted:shop/db:password}"})
    assert caught.value.kind is kind
    assert "The reference ${vaulted:shop/db:password} in the property database.password cannot be resolved" in caught.value.message
    assert told in caught.value.message
    assert "hunter2" not in str(caught.value)
    assert "t0ken" not in str(caught.value)
    assert len(api.requests) == 1


def test_a_server_that_does_not_answer_is_left(api: JsonServer, account: Path) -> None:
    api.answers[SECRET] = None
    with pytest.raises(StoreUnreachableError, match=r"the Kubernetes API at 127\.0\.0\.1:[0-9]+ did not answer in time"):
        store(api, account, limits=Limits(read=0.05)).value("shop/db", "password", {})


def test_a_server_that_is_not_there(account: Path) -> None:
    with json_server() as gone:
        pass
    with pytest.raises(StoreUnreachableError, match="cannot be reached"):
        store(gone, account).value("shop/db", "password", {})


def test_a_server_that_the_authority_did_not_sign_gets_no_token(api: JsonServer, account: Path) -> None:
    import certifi  # noqa: PLC0415 - of httpx

    (account / "ca.crt").write_text(
        Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n"
    )
    with pytest.raises(StoreRefusalError, match="has a certificate that is not trusted"):
        store(api, account).value("shop/db", "password", {})
    assert api.requests == []


def test_a_worker_outside_of_a_pod_says_so(account: Path) -> None:
    with pytest.raises(StoreRefusalError, match="the worker does not run in a pod: KUBERNETES_SERVICE_HOST is not set"):
        KubernetesStore("Secret", account, {}).value("shop/db", "password", {})


@pytest.mark.parametrize("name", ["token", "ca.crt", "namespace"])
def test_a_missing_file_of_the_service_account_is_named(name: str, api: JsonServer, account: Path) -> None:
    (account / name).unlink()
    with pytest.raises(StoreRefusalError, match=f"the file .*/{name} of the service account cannot be read"):
        store(api, account).value("db", "password", {})


def test_an_authority_that_is_none_is_named(api: JsonServer, account: Path) -> None:
    (account / "ca.crt").write_text("none")
    with pytest.raises(StoreRefusalError, match=r"ca\.crt contains no certificates"):
        store(api, account).value("db", "password", {})


def test_an_address_of_ipv6_is_put_in_brackets(account: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "1"}
    with pytest.raises(StoreUnreachableError, match=r"the Kubernetes API at \[::1\]:1 cannot be reached"):
        KubernetesStore("Secret", account, environment).value("db", "password", {})


def test_the_store_shows_no_secret(api: JsonServer, account: Path) -> None:
    one = store(api, account)
    one.value("db", "password", {})
    assert "t0ken" not in repr(one)
    assert "hunter2" not in repr(one)
