"""With botocore's own Stubber: it checks requests and answers against Amazon's description of the service."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError
from botocore.stub import Stubber

from tests.support.json_server import json_server
from workers.secret_stores.aws import AmazonSecretsStore, AwsAccess, AwsSecretsStore
from workers.secret_stores.store import StoreRefusalError, StoreUnreachableError

TEXT = json.dumps({"password": "hunter2", "port": 5432, "tls": True, "none": None, "nested": {"a": 1}})


@pytest.fixture(scope="module")
def client() -> Any:
    """boto3's client; to make one takes more than a second."""
    return AwsAccess("eu-west-1", "", "id", "k3y").client()


@pytest.fixture
def service(client: Any) -> Iterator[Stubber]:
    """Answers exactly the requests that a test adds."""
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def has(service: Stubber, name: str, **answer: object) -> None:
    service.add_response("get_secret_value", answer, {"SecretId": name})


def fails(service: Stubber, code: str, status: int = 400) -> None:
    service.add_client_error("get_secret_value", code, "hunter2", status)


@pytest.mark.parametrize(
    ("key", "value"), [("password", "hunter2"), ("port", "5432"), ("tls", "true"), ("none", None), ("nested", None), ("no", None)]
)
def test_a_member_of_the_object_is_a_value(key: str, value: str | None, service: Stubber) -> None:
    has(service, "shop/db", SecretString=TEXT)
    assert AwsSecretsStore(lambda: service.client).value("shop/db", key, {}) == value


def test_binary_secrets_may_hold_the_object_too(service: Stubber) -> None:
    has(service, "db", SecretBinary=TEXT.encode())
    assert AwsSecretsStore(lambda: service.client).value("db", "password", {}) == "hunter2"


def test_a_prefix_stands_before_each_path(service: Stubber) -> None:
    has(service, "staging/shop/db", SecretString=TEXT)
    assert AwsSecretsStore(lambda: service.client, "staging/").value("/shop/db", "password", {}) == "hunter2"


@pytest.mark.parametrize("make", [AwsSecretsStore, AmazonSecretsStore])
def test_one_pass_reads_a_secret_once(make: type[AwsSecretsStore], service: Stubber) -> None:
    has(service, "db", SecretString=TEXT)
    store, kept = make(lambda: service.client), {}  # type: ignore[var-annotated]
    assert [store.value("db", key, kept) for key in ("password", "port", "password")] == ["hunter2", "5432", "hunter2"]


@pytest.mark.parametrize("text", ["hunter2", "[1]"])
def test_a_secret_that_is_no_object_is_refused(text: str, service: Stubber) -> None:
    has(service, "db", SecretString=text)
    with pytest.raises(StoreRefusalError, match="the secret db is not a JSON object") as caught:
        AwsSecretsStore(lambda: service.client).value("db", "password", {})
    assert "hunter2" not in str(caught.value)


def test_bytes_that_are_not_text_are_refused(service: Stubber) -> None:
    has(service, "db", SecretBinary=b"\xff\xfe")
    with pytest.raises(StoreRefusalError, match="the secret db is not text"):
        AwsSecretsStore(lambda: service.client).value("db", "password", {})


def test_a_reference_without_a_path_is_refused() -> None:
    with pytest.raises(StoreRefusalError, match="names no secret"):
        AwsSecretsStore(lambda: pytest.fail("asked")).value("", "db", {})


@pytest.mark.parametrize(
    ("code", "status", "error", "told"),
    [
        ("ResourceNotFoundException", 400, StoreRefusalError, "has no secret db"),
        ("AccessDeniedException", 400, StoreRefusalError, "may not read the secret db"),
        ("DecryptionFailure", 400, StoreRefusalError, "cannot decrypt the secret db"),
        ("UnrecognizedClientException", 400, StoreRefusalError, r"refused the secret db \(UnrecognizedClientException\)"),
        ("ThrottlingException", 400, StoreUnreachableError, "cannot answer now for the secret db"),
        ("InternalServiceError", 500, StoreUnreachableError, "cannot answer now for the secret db"),
        ("Odd", 503, StoreUnreachableError, "cannot answer now for the secret db"),
    ],
)
def test_refusals_name_the_secret(code: str, status: int, error: type[Exception], told: str, service: Stubber) -> None:
    fails(service, code, status)
    with pytest.raises(error, match=told) as caught:
        AwsSecretsStore(lambda: service.client).value("db", "password", {})
    assert "hunter2" not in str(caught.value)


class Broken:
    """A client whose calls raise."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    def get_secret_value(self, **_: Any) -> Any:
        raise self._problem


@pytest.mark.parametrize(
    ("problem", "error", "told"),
    [
        (NoCredentialsError(), StoreRefusalError, "the worker has no credentials for AWS Secrets Manager"),
        (EndpointConnectionError(endpoint_url="https://x"), StoreUnreachableError, "AWS Secrets Manager cannot be reached"),
        (ValueError("hunter2"), StoreRefusalError, "reported ValueError"),
    ],
)
def test_failures_before_the_service_answers(problem: Exception, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as caught:
        AwsSecretsStore(lambda: Broken(problem)).value("db", "password", {})
    assert "hunter2" not in str(caught.value)


def test_a_client_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/no/such")
    with pytest.raises(StoreRefusalError, match="reported NoRegionError"):
        AwsSecretsStore(AwsAccess().client).value("db", "password", {})


def test_the_client_asks_the_endpoint_with_its_keys() -> None:
    with json_server() as server:
        server.answers["POST /"] = (200, {"Name": "db", "SecretString": TEXT})
        access = AwsAccess("eu-west-1", server.url, "id", "k3y")
        assert "k3y" not in repr(access)
        assert AwsSecretsStore(access.client).value("db", "password", {}) == "hunter2"
        assert json.loads(server.requests[0].body) == {"SecretId": "db"}
        assert server.requests[0].headers["x-amz-target"] == "secretsmanager.GetSecretValue"
        assert "Credential=id/" in server.requests[0].headers["authorization"]


# Amazon's own provider


def test_an_arn_is_url_encoded_and_the_time_to_live_has_no_effect(service: Stubber) -> None:
    has(service, "arn:aws:secretsmanager:eu:1:secret:/db", SecretString=TEXT)
    store = AmazonSecretsStore(lambda: service.client)
    assert store.value("arn%3Aaws%3Asecretsmanager%3Aeu%3A1%3Asecret%3A%2Fdb", "password?ttl=300000", {}) == "hunter2"


@pytest.mark.parametrize(("in_base64", "value"), [(False, TEXT), (True, base64.b64encode(TEXT.encode()).decode())])
def test_a_reference_without_a_path_is_the_whole_secret(in_base64: bool, value: str, service: Stubber) -> None:
    has(service, "db:1", SecretString=TEXT)
    assert AmazonSecretsStore(lambda: service.client, in_base64=in_base64).value("", "db%3A1?ttl=5", {}) == value


def test_what_is_missing_is_empty_or_refused(service: Stubber) -> None:
    for _ in range(2):
        fails(service, "ResourceNotFoundException")
        has(service, "db", SecretString=TEXT)
    lenient, strict = (AmazonSecretsStore(lambda: service.client, lenient=each) for each in (True, False))
    assert lenient.value("none", "password", {}) == ""
    assert lenient.value("db", "no", {}) == ""
    with pytest.raises(StoreRefusalError, match="has no secret none"):
        strict.value("none", "password", {})
    with pytest.raises(StoreRefusalError, match="the secret db has no key no"):
        strict.value("db", "no", {})


def test_a_refusal_is_never_an_empty_text(service: Stubber) -> None:
    fails(service, "AccessDeniedException")
    with pytest.raises(StoreRefusalError):
        AmazonSecretsStore(lambda: service.client).value("db", "password", {})
    fails(service, "ResourceNotFoundException")
    with pytest.raises(StoreRefusalError):
        AmazonSecretsStore(lambda: service.client).value("", "db", {})
