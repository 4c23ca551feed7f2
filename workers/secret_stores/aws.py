"""Secrets of AWS Secrets Manager, by boto3 (the extra ``aws``).

A secret is a JSON object; each member is a value. Amazon's own provider (of its samples for MSK) also gives whole secrets, and decodes
paths that are URL-encoded, because an ARN contains colons, which separate the parts of a reference.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

import orjson

from workers.secret_stores.store import Kept, StoreRefusalError, StoreUnreachableError

MakeClient = Callable[[], Any]
"""Makes boto3's client of Secrets Manager."""
_PASSING: Final = frozenset(
    {"InternalServiceError", "InternalServiceErrorException", "RequestTimeout", "ServiceUnavailable", "SlowDown", "ThrottlingException"}
)
_WHOLE: Final = "whole"
"""The key under which :class:`AmazonSecretsStore` keeps the text of a secret."""


@dataclass(frozen=True, slots=True)
class AwsAccess:
    """How to reach Secrets Manager. Empty texts leave the choice to boto3: its environment variables, files and roles."""

    region: str = ""
    endpoint: str = ""
    access_key: str = ""
    secret_key: str = field(default="", repr=False)

    def client(self) -> Any:
        """boto3's client. Raises botocore's errors for settings that it cannot use."""
        import boto3  # noqa: PLC0415 (of an extra)
        from botocore.config import Config  # noqa: PLC0415 (as above)

        session = boto3.session.Session(
            region_name=self.region or None,
            aws_access_key_id=self.access_key or None,
            aws_secret_access_key=self.secret_key or None,
        )
        limits = Config(connect_timeout=3, read_timeout=5, retries={"max_attempts": 1, "mode": "standard"})
        return session.client("secretsmanager", endpoint_url=self.endpoint or None, config=limits)


@dataclass(slots=True)
class AwsSecretsStore:
    """Secrets by the providers that read JSON objects only. ``prefix`` is put before each path."""

    make_client: MakeClient
    prefix: str = ""
    _client: Any = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def value(self, path: str, key: str, kept: Kept) -> str | None:
        """As :meth:`workers.secret_stores.store.SecretStore.value`."""
        if not path:
            raise StoreRefusalError("the reference names no secret of AWS Secrets Manager: write ${provider:secret:key}")
        place = f"{self.prefix.rstrip('/')}/{path.lstrip('/')}" if self.prefix else path
        if place not in kept:
            kept[place] = _texts(self.text(place), place)
        return kept[place].get(key)

    def text(self, name: str) -> str:
        """The text of the secret ``name``. Raises StoreRefusalError, :class:`SecretNotFoundError` too, and StoreUnreachableError."""
        from botocore import exceptions as boto  # noqa: PLC0415 (of an extra)

        try:
            with self._lock:
                if self._client is None:
                    self._client = self.make_client()
            answer = self._client.get_secret_value(SecretId=name)
        except boto.ClientError as problem:
            raise _refusal(problem.response, name) from problem
        except boto.NoCredentialsError as problem:
            raise StoreRefusalError("the worker has no credentials for AWS Secrets Manager") from problem
        except (boto.ConnectionError, boto.HTTPClientError) as problem:
            raise StoreUnreachableError("AWS Secrets Manager cannot be reached") from problem
        except (boto.BotoCoreError, ValueError) as problem:
            # The text of such an error may quote a setting.
            raise StoreRefusalError(f"the client of AWS Secrets Manager reported {type(problem).__name__}") from problem
        if isinstance(answer.get("SecretString"), str):
            return str(answer["SecretString"])
        try:
            return bytes(answer.get("SecretBinary") or b"").decode()
        except ValueError:
            raise StoreRefusalError(f"the secret {name} is not text") from None


@dataclass(slots=True)
class AmazonSecretsStore(AwsSecretsStore):
    """Secrets by Amazon's own provider. ``lenient``: a missing secret or key is an empty text, otherwise it is refused."""

    lenient: bool = True
    in_base64: bool = False
    """Whether a whole secret is given in base64."""

    def value(self, path: str, key: str, kept: Kept) -> str | None:
        """As the other providers. A reference without a path names a whole secret. ``?ttl=...`` after the key has no effect."""
        key = key.partition("?ttl=")[0]
        place = unquote(path or key)
        try:
            if place not in kept:
                kept[place] = {_WHOLE: self.text(place)}
            if not path:
                whole = kept[place][_WHOLE]
                return base64.b64encode(whole.encode()).decode() if self.in_base64 else whole
            found = _texts(kept[place][_WHOLE], place).get(key)
        except SecretNotFoundError:
            if self.lenient and path:
                return ""
            raise
        if found is None and not self.lenient:
            raise StoreRefusalError(f"the secret {place} has no key {key}")
        return found or ""


class SecretNotFoundError(StoreRefusalError):
    """The service has no such secret."""


def _refusal(answer: Mapping[str, Any], name: str) -> StoreRefusalError | StoreUnreachableError:
    code = str(answer.get("Error", {}).get("Code", ""))
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    match code:
        case "ResourceNotFoundException":
            return SecretNotFoundError(f"AWS Secrets Manager has no secret {name}")
        case "AccessDeniedException":
            return StoreRefusalError(f"the worker's credentials may not read the secret {name} of AWS Secrets Manager")
        case "DecryptionFailure" | "DecryptionFailureException":
            return StoreRefusalError(f"AWS Secrets Manager cannot decrypt the secret {name}")
        case _ if code in _PASSING or status >= 500:
            return StoreUnreachableError(f"AWS Secrets Manager cannot answer now for the secret {name} ({code or status})")
        case _:
            return StoreRefusalError(f"AWS Secrets Manager refused the secret {name} ({code or status})")


def _texts(text: str, name: str) -> Mapping[str, str]:
    """The members that are strings, numbers or booleans, as texts."""
    try:
        members = orjson.loads(text)
    except ValueError:
        members = None
    if not isinstance(members, dict):
        raise StoreRefusalError(f"the secret {name} is not a JSON object")
    return {key: value if isinstance(value, str) else orjson.dumps(value).decode() for key, value in members.items() if _scalar(value)}


def _scalar(value: object) -> bool:
    return isinstance(value, str | int | float)
