from __future__ import annotations

import json
import ssl
from collections.abc import Iterator

import pytest

from tests.support.json_server import JsonServer, json_server
from tests.support.project import TLS
from workers.secret_stores.json_call import Server
from workers.secret_stores.store import StoreRefusalError, StoreUnreachableError
from workers.secret_stores.vault import Login, VaultStore, trust

SECOND = "GET /v1/secret/data/shop/db"
VALUES = {"password": "hunter2", "port": 5432, "tls": True, "none": None, "nested": {"a": [1]}}
APP_ROLE = Login("auth/approle/login", {"role_id": "r", "secret_id": "s3cret"})
LOGIN = "POST /v1/auth/approle/login"


@pytest.fixture
def vault() -> Iterator[JsonServer]:
    with json_server() as server:
        server.answers[SECOND] = (200, {"data": {"data": VALUES, "metadata": {"version": 3}}})
        server.answers["GET /v1/secret/shop/db"] = (200, {"data": VALUES})
        server.answers[LOGIN] = (200, {"auth": {"client_token": "lent1", "lease_duration": 100}})
        yield server


def store(vault: JsonServer, token: str | Login = "root", **given: object) -> VaultStore:
    return VaultStore(Server("Vault", vault.url, None), token, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["secret/shop/db", "/secret/shop/db/", "secret/data/shop/db"])
def test_the_second_version_has_data_in_its_path(path: str, vault: JsonServer) -> None:
    assert store(vault).value(path, "password", {}) == "hunter2"
    assert vault.requests[0].path == "/v1/secret/data/shop/db"
    assert vault.requests[0].headers["x-vault-token"] == "root"
    assert "x-vault-namespace" not in vault.requests[0].headers


def test_the_first_version_has_not(vault: JsonServer) -> None:
    assert store(vault, version=1).value("secret/shop/db", "password", {}) == "hunter2"


def test_a_mount_point_may_have_several_parts(vault: JsonServer) -> None:
    vault.answers["GET /v1/team/kv/data/db"] = (200, {"data": {"data": {"a": "b"}}})
    assert store(vault, depth=2).value("team/kv/db", "a", {}) == "b"


def test_a_namespace_is_sent(vault: JsonServer) -> None:
    store(vault, namespace="team").value("secret/shop/db", "password", {})
    assert vault.requests[0].headers["x-vault-namespace"] == "team"


@pytest.mark.parametrize(("key", "value"), [("port", "5432"), ("tls", "true"), ("nested", '{"a":[1]}'), ("none", None), ("no", None)])
def test_values_that_are_not_strings_are_json(key: str, value: str | None, vault: JsonServer) -> None:
    assert store(vault).value("secret/shop/db", key, {}) == value


def test_one_pass_reads_a_secret_once(vault: JsonServer) -> None:
    one, kept = store(vault), {}  # type: ignore[var-annotated]
    assert [one.value("secret/shop/db", key, kept) for key in ("password", "port", "password")] == ["hunter2", "5432", "hunter2"]
    assert len(vault.requests) == 1


@pytest.mark.parametrize("path", ["", "secret", "secret/", "secret/../sys/x", "secret/a?b", "secret//a", "a b/c", "secret/%2e%2e/x"])
def test_a_path_that_cannot_be_meant_asks_nobody(path: str, vault: JsonServer) -> None:
    with pytest.raises(StoreRefusalError, match="the mount point and the secret, such as secret/db"):
        store(vault).value(path, "password", {})
    assert vault.requests == []


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        (403, StoreRefusalError, "does not allow to read the path secret/shop/db (403)"),
        (404, StoreRefusalError, "has no secret at the path secret/shop/db (404)"),
        (400, StoreRefusalError, "answered 400 for the path secret/shop/db"),
        (503, StoreUnreachableError, "cannot answer now (503) for the path secret/shop/db"),
    ],
)
def test_refusals_name_the_path(status: int, error: type[Exception], told: str, vault: JsonServer) -> None:
    vault.answers[SECOND] = (status, {"errors": ["hunter2"]})
    with pytest.raises(error) as caught:
        store(vault).value("secret/shop/db", "password", {})
    assert told in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "root" not in str(caught.value)


def test_a_login_s_token_is_used_until_most_of_its_time_is_over(vault: JsonServer) -> None:
    now = [0.0]
    one = store(vault, APP_ROLE, clock=lambda: now[0])
    for second in (0.0, 79.0, 81.0):
        now[0] = second
        assert one.value("secret/shop/db", "password", {}) == "hunter2"
    assert [request.method for request in vault.requests] == ["POST", "GET", "GET", "POST", "GET"]
    assert json.loads(vault.requests[0].body) == {"role_id": "r", "secret_id": "s3cret"}
    assert vault.requests[1].headers["x-vault-token"] == "lent1"
    assert "s3cret" not in repr(one)
    assert "lent1" not in repr(one)


def test_a_login_without_a_lease_is_kept(vault: JsonServer) -> None:
    vault.answers[LOGIN] = (200, {"auth": {"client_token": "root", "lease_duration": 0}})
    now = [0.0]
    one = store(vault, APP_ROLE, clock=lambda: now[0])
    for second in (0.0, 1e9):
        now[0] = second
        one.value("secret/shop/db", "password", {})
    assert [request.method for request in vault.requests] == ["POST", "GET", "GET"]


def test_a_revoked_token_of_a_login_is_replaced_once(vault: JsonServer) -> None:
    one = store(vault, APP_ROLE)
    one.value("secret/shop/db", "password", {})
    vault.answers[SECOND] = (403, {})
    with pytest.raises(StoreRefusalError, match="403"):
        one.value("secret/shop/db", "password", {})
    assert [request.method for request in vault.requests] == ["POST", "GET", "GET", "POST", "GET"]


@pytest.mark.parametrize("answer", [(400, {"errors": ["s3cret"]}), (200, {}), (200, {"auth": None}), (200, {"auth": {"client_token": 1}})])
def test_a_refused_login_is_named(answer: tuple[int, object], vault: JsonServer) -> None:
    vault.answers[LOGIN] = answer
    with pytest.raises(StoreRefusalError, match=rf"refused the login at auth/approle/login \({answer[0]}\)") as caught:
        store(vault, APP_ROLE).value("secret/shop/db", "password", {})
    assert "s3cret" not in str(caught.value)


def test_a_login_that_cannot_be_made_now(vault: JsonServer) -> None:
    vault.answers[LOGIN] = (503, {})
    with pytest.raises(StoreUnreachableError, match="for the login at auth/approle/login"):
        store(vault, APP_ROLE).value("secret/shop/db", "password", {})


def test_an_authority_of_one_s_own_and_none() -> None:
    with json_server(tls=True) as server:
        server.answers[SECOND] = (200, {"data": {"data": VALUES}})
        url = f"https://localhost:{server.port}"

        def read(context: ssl.SSLContext) -> str | None:
            return VaultStore(Server("Vault", url, context), "root").value("secret/shop/db", "password", {})

        assert read(trust(str(TLS / "authority.pem"), verify=True)) == "hunter2"
        assert read(trust("", verify=False)) == "hunter2"
        with pytest.raises(StoreRefusalError, match="has a certificate that is not trusted"):
            read(trust("", verify=True))
