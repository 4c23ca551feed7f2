"""The classes of configuration providers that ask a server, by their names in Kafka Connect, with the parameters of each."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from connector.extras import install_command
from workers.secret_stores.aws import AmazonSecretsStore, AwsAccess, AwsSecretsStore
from workers.secret_stores.json_call import Server
from workers.secret_stores.kubernetes import KubernetesStore
from workers.secret_stores.store import SecretStore
from workers.secret_stores.vault import Login, VaultStore, trust


class ParameterError(ValueError):
    """A parameter cannot be used. ``name`` is the parameter's; the text is the reason and does not quote a password."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


Make = Callable[[Mapping[str, str], Mapping[str, str]], SecretStore]
"""``make(parameters, environment)``. Raises ParameterError."""


@dataclass(frozen=True, slots=True)
class StoreClass:
    """One class: how to make its store, its parameters, and those of them that have no effect here."""

    make: Make
    parameters: frozenset[str]
    idle: frozenset[str] = frozenset()
    extra: tuple[str, str] | None = None
    """The module that it needs, and the extra that brings the module."""


def store_of(class_name: str, parameters: Mapping[str, str], environment: Mapping[str, str]) -> SecretStore:
    """The store of a class in :data:`STORE_CLASSES`. It asks the server only when a value is needed. Raises ParameterError."""
    known = STORE_CLASSES[class_name]
    if known.extra is not None and find_spec(known.extra[0]) is None:
        raise ParameterError("", f"it needs the package {known.extra[0]}: `{install_command(known.extra[1])}`")
    for name in parameters:
        if name not in known.parameters | known.idle:
            raise ParameterError(name, "this worker does not support the parameter; remove it")
    return known.make({name: value.strip() for name, value in parameters.items()}, environment)


def _kubernetes(kind: str) -> Make:
    return lambda _, environment: KubernetesStore(kind, environment=environment)


def _aws(parameters: Mapping[str, str], _: Mapping[str, str]) -> SecretStore:
    given = parameters.get
    access = AwsAccess(
        given("aws.region", ""),
        given("aws.endpoint.url", ""),
        *(given("aws.access.key", ""), given("aws.secret.key", "")),
    )
    if bool(access.access_key) != bool(access.secret_key):
        raise ParameterError("aws.secret.key", "aws.access.key and aws.secret.key belong together")
    return AwsSecretsStore(access.client, given("secret.prefix", ""))


def _amazon(parameters: Mapping[str, str], _: Mapping[str, str]) -> SecretStore:
    strategy = _one_of(parameters, "NotFoundStrategy", "ignore", ("ignore", "fail"))
    form = _one_of(parameters, "RawSecretEncoding", "none", ("none", "base64"))
    access = AwsAccess(parameters.get("region", ""), parameters.get("endpoint", ""))
    return AmazonSecretsStore(access.client, lenient=strategy == "ignore", in_base64=form == "base64")


def _vault(parameters: Mapping[str, str], environment: Mapping[str, str]) -> SecretStore:
    address = parameters.get("vault.address") or environment.get("VAULT_ADDR", "")
    if not address.startswith(("http://", "https://")):
        raise ParameterError("vault.address", "it must be an address with http or https; VAULT_ADDR is used if it is not set")
    verify = _one_of(parameters, "vault.ssl.verify.enabled", "true", ("true", "false")) == "true"
    try:
        tls = trust(environment.get("VAULT_SSL_CERT", ""), verify=verify) if address.startswith("https://") else None
    except (OSError, ssl.SSLError):
        raise ParameterError("vault.address", "the file of certificates in VAULT_SSL_CERT cannot be read") from None
    # Both count the parts of a path only: the mount point of the engine has as many.
    prefix = parameters.get("vault.prefixpath") or parameters.get("vault.prefix", "")
    return VaultStore(
        Server("Vault", address, tls),
        _vault_token(parameters, environment),
        namespace=parameters.get("vault.namespace", ""),
        version=int(_one_of(parameters, "vault.secrets.version", "2", ("1", "2"))),
        depth=max(1, len(prefix.strip("/").split("/"))),
    )


def _vault_token(parameters: Mapping[str, str], environment: Mapping[str, str]) -> str | Login:
    """The token, or the login. jcustenborder's names come first, Confluent's second."""
    key = "vault.auth.method" if "vault.auth.method" in parameters else "vault.login.by"
    match _one_of(parameters, key, "token", ("token", "approle", "userpass", "ldap")):
        case "token":
            token = parameters.get("vault.token") or parameters.get("vault.auth.token") or environment.get("VAULT_TOKEN", "")
            if not token:
                raise ParameterError("vault.token", "it is not set, and VAULT_TOKEN neither")
            return token
        case "approle":
            role = _required(parameters, "vault.role.id", "vault.auth.role")
            form = {"role_id": role, "secret_id": _required(parameters, "vault.secret.id", "vault.auth.secret")}
            return Login(f"auth/{parameters.get('vault.auth.mount') or 'approle'}/login", form)
        case by:
            mount, user = parameters.get("vault.auth.mount") or by, _required(parameters, "vault.auth.username")
            return Login(f"auth/{mount}/login/{user}", {"password": _required(parameters, "vault.auth.password")})


def _required(parameters: Mapping[str, str], *names: str) -> str:
    found = next((value for name in names if (value := parameters.get(name))), None)
    if found is None:
        raise ParameterError(names[0], "the login needs it")
    return found


def _one_of(parameters: Mapping[str, str], name: str, default: str, known: tuple[str, ...]) -> str:
    given = (parameters.get(name) or default).lower()
    if given not in known:
        raise ParameterError(name, f"it must be {' or '.join(known)}")
    return given


_RETRIES: Final = frozenset({"retry.count", "retry.interval.seconds", "thread.count", "timeout.seconds"})
_POLLING: Final = frozenset({"polling.enabled", "polling.interval.seconds"})
_JCUSTENBORDER_AWS: Final = frozenset({"aws.region", "aws.access.key", "aws.secret.key", "aws.endpoint.url", "secret.prefix"})
_JCUSTENBORDER_VAULT: Final = frozenset(
    {
        *("vault.address", "vault.namespace", "vault.prefix", "vault.ssl.verify.enabled"),
        *("vault.login.by", "vault.token", "vault.role.id", "vault.secret.id"),
    }
)
_CONFLUENT_VAULT: Final = frozenset(
    {
        *("vault.address", "vault.namespace", "vault.prefixpath", "vault.secrets.version", "vault.ssl.verify.enabled"),
        *("vault.auth.method", "vault.auth.mount", "vault.auth.token", "vault.auth.role", "vault.auth.secret"),
        *("vault.auth.username", "vault.auth.password"),
    }
)
_BOTO: Final = ("boto3", "aws")

STORE_CLASSES: Final[Mapping[str, StoreClass]] = {
    "io.strimzi.kafka.KubernetesSecretConfigProvider": StoreClass(_kubernetes("Secret"), frozenset()),
    "io.strimzi.kafka.KubernetesConfigMapConfigProvider": StoreClass(_kubernetes("ConfigMap"), frozenset()),
    "com.github.jcustenborder.kafka.config.aws.SecretsManagerConfigProvider": StoreClass(
        _aws, _JCUSTENBORDER_AWS, frozenset({"secret.ttl.ms"}), _BOTO
    ),
    "io.confluent.csid.config.provider.aws.SecretsManagerConfigProvider": StoreClass(
        _aws, frozenset({"aws.region", "aws.access.key", "aws.secret.key", "secret.prefix"}), _RETRIES | _POLLING, _BOTO
    ),
    "com.amazonaws.kafka.config.providers.SecretsManagerConfigProvider": StoreClass(
        _amazon, frozenset({"region", "endpoint", "NotFoundStrategy", "RawSecretEncoding"}), frozenset(), _BOTO
    ),
    "com.github.jcustenborder.kafka.config.vault.VaultConfigProvider": StoreClass(
        _vault, _JCUSTENBORDER_VAULT, frozenset({"vault.max.retries", "vault.retry.interval.ms", "vault.secret.minimum.ttl.ms"})
    ),
    "io.confluent.csid.config.provider.vault.VaultConfigProvider": StoreClass(
        _vault, _CONFLUENT_VAULT, frozenset({"vault.url.logging.enabled"}) | _RETRIES | _POLLING
    ),
}
