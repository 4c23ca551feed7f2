"""The providers of secrets beside servers that others wrote: Vault or OpenBao where one is installed, and moto for Secrets Manager."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import boto3
import pytest

from tests.support.moto_server import moto_server
from tests.support.vault_server import PROGRAM, ROOT_TOKEN, Vault, vault_server
from workers.quickstart.embedded.wait import wait_until
from workers.secret_stores.classes import store_of
from workers.secret_stores.store import StoreRefusalError, StoreUnreachableError

pytestmark = pytest.mark.server

JCUSTENBORDER_VAULT = "com.github.jcustenborder.kafka.config.vault.VaultConfigProvider"
CONFLUENT_VAULT = "io.confluent.csid.config.provider.vault.VaultConfigProvider"
JCUSTENBORDER_AWS = "com.github.jcustenborder.kafka.config.aws.SecretsManagerConfigProvider"
CONFLUENT_AWS = "io.confluent.csid.config.provider.aws.SecretsManagerConfigProvider"
AMAZON = "com.amazonaws.kafka.config.providers.SecretsManagerConfigProvider"
SECRET: Mapping[str, Any] = {"password": "hunter2", "port": 5432, "tls": True, "none": None}
REGION = "eu-west-1"
with_vault = pytest.mark.skipif(PROGRAM is None, reason="neither vault nor bao is installed")


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with vault_server(tmp_path_factory.mktemp("vault")) as server:
        server.write("secret/data/shop/db", {"data": SECRET})
        server.write("sys/policies/acl/shop", {"policy": 'path "secret/data/shop/*" { capabilities = ["read"] }'})
        yield server


def read(vault: Vault, path: str, key: str, name: str = JCUSTENBORDER_VAULT, **given: str) -> str | None:
    """One reference, as a worker with these parameters resolves it."""
    parameters = {"vault.address": vault.url, **{name.replace("_", "."): value for name, value in given.items()}}
    return store_of(name, parameters, {"VAULT_SSL_CERT": str(vault.authority)}).value(path, key, {})


@with_vault
@pytest.mark.parametrize(("key", "value"), [("password", "hunter2"), ("port", "5432"), ("tls", "true"), ("none", None), ("no", None)])
def test_vault_gives_the_values_of_a_secret(key: str, value: str | None, vault: Vault) -> None:
    assert read(vault, "secret/shop/db", key, vault_token=ROOT_TOKEN) == value


@with_vault
def test_vault_s_first_engine_and_a_mount_point_of_several_parts(vault: Vault) -> None:
    vault.write("sys/mounts/old", {"type": "kv", "options": {"version": "1"}})
    vault.write("old/db", SECRET)
    given = {"vault_auth_token": ROOT_TOKEN, "vault_secrets_version": "1"}
    assert read(vault, "old/db", "password", CONFLUENT_VAULT, **given) == "hunter2"
    vault.write("sys/mounts/team/kv", {"type": "kv", "options": {"version": "2"}})
    vault.write("team/kv/data/db", {"data": SECRET})
    assert read(vault, "team/kv/db", "password", vault_token=ROOT_TOKEN, vault_prefix="team/kv") == "hunter2"


@with_vault
def test_vault_s_logins_read_what_their_policy_allows(vault: Vault) -> None:
    vault.write("sys/auth/approle", {"type": "approle"})
    vault.write("auth/approle/role/connect", {"token_policies": "shop", "token_ttl": "20m"})
    role = vault.client.get("/v1/auth/approle/role/connect/role-id").json()["data"]["role_id"]
    secret = vault.write("auth/approle/role/connect/secret-id")["data"]["secret_id"]
    login = {"vault_login_by": "AppRole", "vault_role_id": role, "vault_secret_id": secret}
    vault.write("sys/auth/people", {"type": "userpass"})
    vault.write("auth/people/users/ann", {"password": "pass w\u00f6rd", "token_policies": "shop"})
    person = {"vault_auth_method": "UserPass", "vault_auth_mount": "people", "vault_auth_username": "ann"}
    vault.write("secret/data/other", {"data": SECRET})

    assert read(vault, "secret/shop/db", "password", **login) == "hunter2"
    assert read(vault, "secret/shop/db", "password", CONFLUENT_VAULT, **person, vault_auth_password="pass w\u00f6rd") == "hunter2"
    with pytest.raises(StoreRefusalError, match=r"does not allow to read the path secret/other \(403\)"):
        read(vault, "secret/other", "password", **login)
    with pytest.raises(StoreRefusalError, match="refused the login at auth/people/login/ann"):
        read(vault, "secret/shop/db", "password", CONFLUENT_VAULT, **person, vault_auth_password="wrong")


@with_vault
def test_a_login_whose_token_vault_revoked_is_repeated(vault: Vault) -> None:
    vault.write("sys/auth/roles", {"type": "approle"})
    vault.write("auth/roles/role/connect", {"token_policies": "shop"})
    role = vault.client.get("/v1/auth/roles/role/connect/role-id").json()["data"]["role_id"]
    parameters = {
        "vault.address": vault.url,
        "vault.auth.method": "AppRole",
        "vault.auth.mount": "roles",
        "vault.auth.role": role,
        "vault.auth.secret": vault.write("auth/roles/role/connect/secret-id")["data"]["secret_id"],
    }
    store = store_of(CONFLUENT_VAULT, parameters, {"VAULT_SSL_CERT": str(vault.authority)})
    assert store.value("secret/shop/db", "password", {}) == "hunter2"
    vault.write("sys/leases/revoke-prefix/auth/roles/login")
    wait_until(lambda: not _tokens(vault, "auth/roles/login") or None, "Vault to revoke the token", 30)
    assert store.value("secret/shop/db", "password", {}) == "hunter2"
    assert _tokens(vault, "auth/roles/login") == 1


def _tokens(vault: Vault, path: str) -> int:
    answer = vault.client.request("LIST", f"/v1/sys/leases/lookup/{path}")
    return len(answer.json()["data"]["keys"]) if answer.is_success else 0


@with_vault
def test_what_vault_has_not_or_has_no_more_is_refused(vault: Vault) -> None:
    with pytest.raises(StoreRefusalError, match=r"has no secret at the path secret/none \(404\)"):
        read(vault, "secret/none", "password", vault_token=ROOT_TOKEN)
    vault.write("secret/data/gone", {"data": SECRET})
    assert vault.client.delete("/v1/secret/data/gone").is_success
    # Its answer has the time of the deletion beside the values, which are null.
    with pytest.raises(StoreRefusalError, match=r"has no secret at the path secret/gone \(404\)"):
        read(vault, "secret/gone", "password", vault_token=ROOT_TOKEN)
    with pytest.raises(StoreRefusalError, match="403"):
        read(vault, "secret/shop/db", "password", vault_token="wrong")


@with_vault
def test_a_namespace_of_vault(vault: Vault) -> None:
    if not vault.client.post("/v1/sys/namespaces/sales").is_success:
        pytest.skip("this Vault has no namespaces")
    vault.write("sys/mounts/secret", {"type": "kv", "options": {"version": "2"}}, "sales")
    # The engine of a new mount point prepares its storage.
    own = {"X-Vault-Namespace": "sales"}
    wait_until(lambda: vault.client.get("/v1/secret/config", headers=own).is_success or None, "the new engine", 30)
    vault.write("secret/data/own", {"data": {"password": "theirs"}}, "sales")
    assert read(vault, "secret/own", "password", vault_token=ROOT_TOKEN, vault_namespace="sales") == "theirs"
    with pytest.raises(StoreRefusalError, match="404"):
        read(vault, "secret/own", "password", vault_token=ROOT_TOKEN)


@with_vault
def test_a_sealed_vault_is_asked_again_later(tmp_path: Path) -> None:
    with vault_server(tmp_path) as vault:
        vault.write("sys/seal")
        with pytest.raises(StoreUnreachableError, match=r"cannot answer now \(503\)"):
            read(vault, "secret/shop/db", "password", vault_token=ROOT_TOKEN)


@pytest.fixture(scope="module")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto_server(tmp_path_factory.mktemp("amazon") / "log") as url:
        client = manager(url)
        client.create_secret(Name="shop/db", SecretString=json.dumps(SECRET))
        client.create_secret(Name="binary", SecretBinary=json.dumps(SECRET).encode())
        client.create_secret(Name="word", SecretString="just text")
        yield url


def manager(url: str) -> Any:
    return boto3.client("secretsmanager", endpoint_url=url, region_name=REGION, aws_access_key_id="id", aws_secret_access_key="k3y")


def test_secrets_manager_gives_the_values_of_a_secret(amazon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"aws.region": REGION, "aws.access.key": "id", "aws.secret.key": "k3y"}
    store = store_of(JCUSTENBORDER_AWS, {**own, "aws.endpoint.url": amazon, "secret.prefix": "shop"}, {})
    assert [store.value("db", key, {}) for key in (*SECRET, "no")] == ["hunter2", "5432", "true", None, None]
    # boto3's own variable, which the class without a parameter for it needs here.
    monkeypatch.setenv("AWS_ENDPOINT_URL", amazon)
    assert store_of(CONFLUENT_AWS, own, {}).value("binary", "password", {}) == "hunter2"


def test_amazon_s_own_class(amazon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "k3y")
    at = {"region": REGION, "endpoint": amazon}
    store = store_of(AMAZON, at, {})
    arn = manager(amazon).describe_secret(SecretId="shop/db")["ARN"]
    assert store.value(quote(arn, safe=""), "password", {}) == "hunter2"
    assert store.value("", "word", {}) == "just text"
    assert store_of(AMAZON, {**at, "RawSecretEncoding": "base64"}, {}).value("", "word", {}) == "anVzdCB0ZXh0"
    assert store.value("none", "password", {}) == ""
    with pytest.raises(StoreRefusalError, match="AWS Secrets Manager has no secret none"):
        store_of(AMAZON, {**at, "NotFoundStrategy": "fail"}, {}).value("none", "password", {})


def test_what_secrets_manager_has_not_or_will_delete_is_refused(amazon: str) -> None:
    client = manager(amazon)
    client.create_secret(Name="gone", SecretString=json.dumps(SECRET))
    client.delete_secret(SecretId="gone", RecoveryWindowInDays=7)
    parameters = {"aws.region": REGION, "aws.access.key": "id", "aws.secret.key": "k3y", "aws.endpoint.url": amazon}
    store = store_of(JCUSTENBORDER_AWS, parameters, {})
    for name, told in (("none", "has no secret none"), ("gone", "refused the secret gone"), ("word", "the secret word is not a JSON")):
        with pytest.raises(StoreRefusalError, match=told):
            store.value(name, "password", {})
    elsewhere = store_of(JCUSTENBORDER_AWS, {**parameters, "aws.region": "us-east-1"}, {})
    with pytest.raises(StoreRefusalError, match="has no secret shop/db"):
        elsewhere.value("shop/db", "password", {})
    client.put_secret_value(SecretId="shop/db", SecretString=json.dumps({**SECRET, "password": "changed"}))
    assert store.value("shop/db", "password", {}) == "changed"
