from __future__ import annotations

import pytest

from connector.extras import install_command
from tests.support.json_server import json_server
from workers.secret_stores import classes
from workers.secret_stores.aws import AmazonSecretsStore, AwsSecretsStore
from workers.secret_stores.classes import STORE_CLASSES, ParameterError, store_of
from workers.secret_stores.kubernetes import SERVICE_ACCOUNT, KubernetesStore
from workers.secret_stores.vault import Login, VaultStore
from workers.settings.worker_settings import SettingsError, WorkerSettings

STRIMZI = "io.strimzi.kafka."
AWS = "com.github.jcustenborder.kafka.config.aws.SecretsManagerConfigProvider"
AMAZON = "com.amazonaws.kafka.config.providers.SecretsManagerConfigProvider"
VAULT = "com.github.jcustenborder.kafka.config.vault.VaultConfigProvider"
CONFLUENT_VAULT = "io.confluent.csid.config.provider.vault.VaultConfigProvider"
CONFLUENT_AWS = "io.confluent.csid.config.provider.aws.SecretsManagerConfigProvider"
AT = {"vault.address": "https://vault.example:8200"}


def vault(name: str = VAULT, environment: dict[str, str] | None = None, **given: str) -> VaultStore:
    store = store_of(name, {**AT, **{key.replace("_", "."): value for key, value in given.items()}}, environment or {})
    assert isinstance(store, VaultStore)
    return store


@pytest.mark.parametrize(
    ("name", "kind"), [("KubernetesSecretConfigProvider", "Secret"), ("KubernetesConfigMapConfigProvider", "ConfigMap")]
)
def test_strimzi_s_classes(name: str, kind: str) -> None:
    store = store_of(STRIMZI + name, {}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert store == KubernetesStore(kind, SERVICE_ACCOUNT, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})


def test_every_class_is_made_with_what_it_needs() -> None:
    needs = {VAULT: {**AT, "vault.token": "t"}, CONFLUENT_VAULT: {**AT, "vault.auth.token": "t"}}
    for name in STORE_CLASSES:
        assert store_of(name, needs.get(name, {}), {}) is not None


def test_a_parameter_without_effect_is_accepted_and_an_unknown_one_refused() -> None:
    store_of(AWS, {"aws.region": "eu-west-1", "secret.ttl.ms": "1000"}, {})
    for name in STORE_CLASSES:
        with pytest.raises(ParameterError, match="does not support the parameter") as caught:
            store_of(name, {"no.such": "x"}, {})
        assert caught.value.name == "no.such"


def test_a_class_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "find_spec", lambda _: None)
    with pytest.raises(SettingsError) as caught:
        WorkerSettings.from_properties({"config.providers": "aws", "config.providers.aws.class": AWS})
    assert str(caught.value) == (
        f"The worker property config.providers.aws.class cannot be used: it needs the package boto3: `{install_command('aws')}`."
    )
    assert store_of(STRIMZI + "KubernetesSecretConfigProvider", {}, {}) is not None


def test_parameters_of_aws() -> None:
    with json_server() as server:
        server.answers["POST /"] = (200, {"SecretString": '{"a": "b"}'})
        keys = {"aws.region": " eu-west-1 ", "aws.access.key": "id", "aws.secret.key": "k3y", "aws.endpoint.url": server.url}
        store = store_of(AWS, {**keys, "secret.prefix": "staging"}, {})
        assert isinstance(store, AwsSecretsStore)
        assert store.value("db", "a", {}) == "b"
        assert server.requests[0].body == b'{"SecretId": "staging/db"}'
        assert "/eu-west-1/secretsmanager/" in server.requests[0].headers["authorization"]
    assert isinstance(store_of(CONFLUENT_AWS, {"aws.region": "x", "retry.count": "1", "polling.enabled": "true"}, {}), AwsSecretsStore)
    with pytest.raises(ParameterError, match="belong together"):
        store_of(AWS, {"aws.access.key": "id"}, {})


def test_parameters_of_amazon_s_own_class() -> None:
    plain, strict = (store_of(AMAZON, given, {}) for given in ({}, {"NotFoundStrategy": "Fail", "RawSecretEncoding": "base64"}))
    assert isinstance(plain, AmazonSecretsStore)
    assert isinstance(strict, AmazonSecretsStore)
    assert (plain.lenient, plain.in_base64) == (True, False)
    assert (strict.lenient, strict.in_base64) == (False, True)
    with pytest.raises(ParameterError, match="it must be ignore or fail"):
        store_of(AMAZON, {"NotFoundStrategy": "x"}, {})


def test_a_token_of_vault_comes_from_the_parameter_or_the_environment() -> None:
    assert vault(vault_token="t").token == "t"
    assert vault(CONFLUENT_VAULT, vault_auth_token="t").token == "t"
    assert vault(environment={"VAULT_TOKEN": "e"}).token == "e"
    with pytest.raises(ParameterError, match="it is not set, and VAULT_TOKEN neither"):
        vault()


def test_logins_of_vault() -> None:
    role = {"role_id": "r", "secret_id": "s"}
    assert vault(vault_login_by="AppRole", vault_role_id="r", vault_secret_id="s").token == Login("auth/approle/login", role)
    confluent = vault(CONFLUENT_VAULT, vault_auth_method="AppRole", vault_auth_role="r", vault_auth_secret="s", vault_auth_mount="apps")
    assert confluent.token == Login("auth/apps/login", role)
    for method in ("UserPass", "LDAP"):
        user = vault(CONFLUENT_VAULT, vault_auth_method=method, vault_auth_username="u", vault_auth_password="p")
        assert user.token == Login(f"auth/{method.lower()}/login/u", {"password": "p"})
    with pytest.raises(ParameterError, match="the login needs it") as caught:
        vault(vault_login_by="AppRole", vault_role_id="r")
    assert caught.value.name == "vault.secret.id"
    with pytest.raises(ParameterError, match="it must be token or approle or userpass or ldap"):
        vault(CONFLUENT_VAULT, vault_auth_method="Certificate")


def test_addresses_of_vault() -> None:
    assert vault(vault_token="t").server.url == AT["vault.address"]
    assert vault(vault_token="t", environment={"VAULT_ADDR": "http://x"}).server.url == AT["vault.address"]
    found = store_of(VAULT, {"vault.token": "t"}, {"VAULT_ADDR": "http://127.0.0.1:8200"})
    assert isinstance(found, VaultStore)
    assert (found.server.url, found.server.tls) == ("http://127.0.0.1:8200", None)
    for environment in ({}, {"VAULT_ADDR": "vault:8200"}):
        with pytest.raises(ParameterError, match="an address with http or https"):
            store_of(VAULT, {"vault.token": "t"}, environment)
    with pytest.raises(ParameterError, match="VAULT_SSL_CERT cannot be read"):
        vault(vault_token="t", environment={"VAULT_SSL_CERT": "/no/such"})


def test_other_parameters_of_vault() -> None:
    plain = vault(vault_token="t")
    assert (plain.version, plain.depth, plain.namespace) == (2, 1, "")
    one = vault(CONFLUENT_VAULT, vault_auth_token="t", vault_secrets_version="1", vault_prefixpath="team/kv/", vault_namespace="n")
    assert (one.version, one.depth, one.namespace) == (1, 2, "n")
    tls = vault(vault_token="t", vault_ssl_verify_enabled="false").server.tls
    assert tls is not None
    assert not tls.check_hostname


def test_a_wrong_parameter_is_reported_by_the_worker_s_property() -> None:
    given = {"config.providers": "v", "config.providers.v.class": VAULT, "config.providers.v.param.vault.token": "hunter2"}
    with pytest.raises(SettingsError) as caught:
        WorkerSettings.from_properties(given)
    assert str(caught.value).startswith("The worker property config.providers.v.param.vault.address cannot be used: ")
    assert "hunter2" not in str(caught.value)
    settings = WorkerSettings.from_properties({**given, "config.providers.v.param.vault.address": "http://x"})
    assert "hunter2" not in repr(settings)
